"""Formats such as `{remote} {name} {rcode}`, compiled once and filled in for each query.

A placeholder is the innermost pair of braces; what is none of the known ones stays as it is. `{/plugin/label}` is
metadata, `-` without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple

from waypost.dispatch.request import Address, Request
from waypost.toolkit.sent import as_sent, sent_flags
from waypost.wire import consts, names
from waypost.wire.edns import ECHOED, opt_size
from waypost.wire.fit import reply_size, size_limit
from waypost.wire.reply import Reply

Field = Callable[[Request, Reply | None, float], object]
"""The same for one placeholder, with the reply as it leaves, None for silence."""

EMPTY: Final = "-"
# A socket address of IPv6 has more than host and port.
_V4_ADDRESS: Final = 2
COMMON: Final = (
    '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" '
    "{rcode} {>rflags} {rsize} {duration}"
)
COMBINED: Final = COMMON + ' "{>opcode}"'

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


_Own = tuple[str, int, int, float]
"""What a query has of its own: the client's address and port, the id, and the seconds it took."""


class _Changing(NamedTuple):
    """A field's place among what a query has of its own, and how it is written."""

    place: int
    form: str


class Again:
    """Writes the text of more of the same: all is filled in but what each query has of its own (`_CHANGING`)."""

    __slots__ = ("_choose", "_template", "_write")

    def __init__(self, template: str, choose: Callable[[_Own], object], write: Callable[[str], None]) -> None:
        self._template = template
        self._choose = choose
        self._write = write

    def __call__(self, wire: bytes, client: Address, seconds: float) -> None:
        """For a query in this packet from this client that took so long."""
        remote = client[0] if len(client) == _V4_ADDRESS else _remote(client[0])
        own = (remote, client[1], wire[0] << 8 | wire[1], seconds)
        self._write(self._template % self._choose(own))


class Format:
    """A compiled format: `template` has a `%s` for each of the fields."""

    __slots__ = ("_choose", "_fields", "_template")

    def __init__(self, template: str, fields: tuple[Field, ...]) -> None:
        self._template = template
        self._fields = fields
        places = [_CHANGING[field].place for field in fields if field in _CHANGING]
        self._choose: Callable[[_Own], object] = itemgetter(*places) if places else lambda own: ()

    def __call__(self, request: Request, reply: Reply, seconds: float) -> str:
        """Request, outcome of the chain and seconds it took, to text."""
        sent = as_sent(request.query, reply)
        return self._template % tuple([field(request, sent, seconds) for field in self._fields])

    def again(self, request: Request, reply: Reply, write: Callable[[str], None]) -> Again:
        """For more queries with the same packet, but for its id, and the same outcome: the rest is filled in now."""
        sent = as_sent(request.query, reply)
        values = [
            _CHANGING[field].form if field in _CHANGING else _fixed(field, request, sent) for field in self._fields
        ]
        template = self._template.replace("%%", "%%%%")  # it is filled in twice
        return Again(template % tuple(values), self._choose, write)


def compile_format(text: str) -> Format:
    """The function that fills in `text`. `{common}` and `{combined}` in it are expanded first."""
    text = text.replace("{common}", COMMON).replace("{combined}", COMBINED)
    fields: list[Field] = []
    template = ""
    end = 0
    for found in _PLACEHOLDER.finditer(text):
        name = found[1]
        field = _metadata_field(name[1:]) if name.startswith("/") else _FIELDS.get(name)
        if field is not None:
            template += text[end : found.start()].replace("%", "%%") + "%s"
            fields.append(field)
            end = found.end()
    template += text[end:].replace("%", "%%")

    return Format(template, tuple(fields))


def printable(text: str) -> str:
    """`text` with what is no printable character escaped, so that it stays within its line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def metadata_value(request: Request, label: str) -> str | None:
    """The value of a metadata label such as `kubernetes/namespace` for this request; None if nobody set it."""
    value = request.metadata.get(label) if request.metadata is not None else None
    return value() if value is not None else None


def _metadata_field(label: str) -> Field:
    def field(request: Request, sent: Reply | None, seconds: float) -> str:
        value = metadata_value(request, label)
        return EMPTY if value is None else printable(value)

    return field


def _fixed(field: Field, request: Request, sent: Reply | None) -> str:
    return str(field(request, sent, 0.0)).replace("%", "%%")


def _remote(host: str) -> str:
    return _bracketed(host.partition("%")[0])


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _size(request: Request) -> int:
    """Bytes of the query as the server sees it: EDNS options that it does not keep are gone."""
    query = request.query
    if query.opt is None:
        return query.end
    return query.end + opt_size(tuple(option for option in query.opt.options if option.code in ECHOED))


def _rcode(sent: Reply) -> str:
    text = consts.rcode_text(sent.rcode)
    return str(sent.rcode) if text.startswith("RCODE") else text


def _rflags(request: Request, sent: Reply) -> str:
    return _flag_texts(sent_flags(request.query, sent, datagram=request.datagram))


_flag_texts: Final = lru_cache(maxsize=256)(consts.flag_texts)
_name_text: Final = lru_cache(maxsize=1024)(names.to_text)

_FIELDS: Final[dict[str, Field]] = {
    "type": lambda request, sent, seconds: consts.type_text(request.query.qtype),
    "class": lambda request, sent, seconds: consts.class_text(request.query.qclass),
    "name": lambda request, sent, seconds: _name_text(request.query.name),
    "proto": lambda request, sent, seconds: request.protocol,
    "remote": lambda request, sent, seconds: _bracketed(request.client_ip),
    "local": lambda request, sent, seconds: _bracketed(request.local_ip),
    "port": lambda request, sent, seconds: request.client[1],
    "size": lambda request, sent, seconds: _size(request),
    ">id": lambda request, sent, seconds: request.query.id,
    ">opcode": lambda request, sent, seconds: request.query.opcode,
    ">do": lambda request, sent, seconds: "true" if request.query.do else "false",
    ">bufsize": lambda request, sent, seconds: size_limit(request.query, datagram=request.datagram),
    "rcode": lambda request, sent, seconds: EMPTY if sent is None else _rcode(sent),
    ">rflags": lambda request, sent, seconds: EMPTY if sent is None else _rflags(request, sent),
    "rsize": lambda request, sent, seconds: 0 if sent is None else reply_size(request.query, sent),
    "duration": lambda request, sent, seconds: f"{seconds:.9f}s",
}

_CHANGING: Final = {
    _FIELDS["remote"]: _Changing(0, "%s"),
    _FIELDS["port"]: _Changing(1, "%s"),
    _FIELDS[">id"]: _Changing(2, "%s"),
    _FIELDS["duration"]: _Changing(3, "%.9fs"),
}
"""The fields that differ from one query to another of the same packet but for its id."""
