"""Formats such as `{remote} {name} {rcode}`, compiled once and filled in for each query.

A placeholder is the innermost pair of braces; what is none of the known ones stays as it is. `{/plugin/label}` is
metadata, `-` without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from waypost.dispatch.request import Request
from waypost.toolkit.sent import as_sent, sent_flags
from waypost.wire import consts, names
from waypost.wire.edns import ECHOED, opt_size
from waypost.wire.fit import reply_size, size_limit
from waypost.wire.reply import Reply

Formatter = Callable[[Request, Reply, float], str]
"""Request, outcome of the chain and seconds it took, to text."""

EMPTY: Final = "-"
COMMON: Final = (
    '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" '
    "{rcode} {>rflags} {rsize} {duration}"
)
COMBINED: Final = COMMON + ' "{>opcode}"'

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


def compile_format(text: str) -> Formatter:
    """The function that fills in `text`. `{common}` and `{combined}` in it are expanded first."""
    text = text.replace("{common}", COMMON).replace("{combined}", COMBINED)
    fields: list[Formatter] = []
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

    def fill(request: Request, reply: Reply, seconds: float) -> str:
        return template % tuple([field(request, reply, seconds) for field in fields])

    return fill


def printable(text: str) -> str:
    """`text` with what is no printable character escaped, so that it stays within its line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def metadata_value(request: Request, label: str) -> str | None:
    """The value of a metadata label such as `kubernetes/namespace` for this request; None if nobody set it."""
    value = request.metadata.get(label) if request.metadata is not None else None
    return value() if value is not None else None


def _metadata_field(label: str) -> Formatter:
    def field(request: Request, reply: Reply, seconds: float) -> str:
        value = metadata_value(request, label)
        return EMPTY if value is None else printable(value)

    return field


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _size(request: Request) -> int:
    """Bytes of the query as the server sees it: EDNS options that it does not keep are gone."""
    query = request.query
    if query.opt is None:
        return query.end
    return query.end + opt_size(tuple(option for option in query.opt.options if option.code in ECHOED))


def _rcode(request: Request, reply: Reply) -> str:
    sent = as_sent(request.query, reply)
    if sent is None:
        return EMPTY
    text = consts.rcode_text(sent.rcode)
    return str(sent.rcode) if text.startswith("RCODE") else text


def _rflags(request: Request, reply: Reply) -> str:
    sent = as_sent(request.query, reply)
    if sent is None:
        return EMPTY
    return consts.flag_texts(sent_flags(request.query, sent, datagram=request.datagram))


def _rsize(request: Request, reply: Reply) -> str:
    sent = as_sent(request.query, reply)
    return "0" if sent is None else str(reply_size(request.query, sent))


_FIELDS: Final[dict[str, Formatter]] = {
    "type": lambda request, reply, seconds: consts.type_text(request.query.qtype),
    "class": lambda request, reply, seconds: consts.class_text(request.query.qclass),
    "name": lambda request, reply, seconds: names.to_text(request.query.name),
    "proto": lambda request, reply, seconds: request.protocol,
    "remote": lambda request, reply, seconds: _bracketed(request.client_ip),
    "local": lambda request, reply, seconds: _bracketed(request.local_ip),
    "port": lambda request, reply, seconds: str(request.client[1]),
    "size": lambda request, reply, seconds: str(_size(request)),
    ">id": lambda request, reply, seconds: str(request.query.id),
    ">opcode": lambda request, reply, seconds: str(request.query.opcode),
    ">do": lambda request, reply, seconds: "true" if request.query.do else "false",
    ">bufsize": lambda request, reply, seconds: str(size_limit(request.query, datagram=request.datagram)),
    "rcode": lambda request, reply, seconds: _rcode(request, reply),
    ">rflags": lambda request, reply, seconds: _rflags(request, reply),
    "rsize": lambda request, reply, seconds: _rsize(request, reply),
    "duration": lambda request, reply, seconds: f"{seconds:.9f}s",
}
