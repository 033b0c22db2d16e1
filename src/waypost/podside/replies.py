"""What name servers answer to the queries of a cascade: replies as values, and zones written down as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

DROP: Final = "DROP"
"""Stands in the place of an RCODE: the query was lost, or its reply."""
UNREACHABLE: Final = "UNREACHABLE"
"""Likewise: nobody listens at that address, and an ICMP message says so."""
NO_REPLY: Final = (DROP, UNREACHABLE)
RCODES: Final = ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED")


class Record(NamedTuple):
    """A resource record of an answer section; an empty owner is the name that was asked."""

    type: str
    data: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response, or that there is none (`rcode` is then one of NO_REPLY).

    `tc`: truncated and empty over UDP. `bare`: neither SOA nor OPT record in a negative response.
    """

    rcode: str = "NXDOMAIN"
    records: tuple[Record, ...] = ()
    tc: bool = False
    aa: bool = True
    ra: bool = True
    bare: bool = False

    @property
    def answers(self) -> bool:
        """True for NOERROR with records, whatever they are."""
        return self.rcode == "NOERROR" and bool(self.records)

    def is_lame(self, edns: bool) -> bool:
        """True for a response that tells nothing: NOERROR, empty, neither AA nor RA, nothing in additional."""
        counts_as_empty = not edns or self.bare
        return self.rcode == "NOERROR" and not (self.records or self.aa or self.ra) and counts_as_empty


class Asked(NamedTuple):
    """A query as a name server sees it: `name` with its final dot, `transport` udp or tcp."""

    name: str
    type: str
    server: str
    transport: str
    edns: bool = False


Answer: TypeAlias = Callable[[Asked], Reply]
"""What answers the queries of a cascade."""


class ZoneError(Exception):
    """A zone in JSON that cannot be read; the text names key and field."""


@dataclass(slots=True)
class Zone:
    """Replies under `name./TYPE`, `name./TYPE@server` or, for a whole server, `@server`; everything else is NXDOMAIN.

    The replies of a key are given one after the other, the last one for ever.
    """

    replies: Mapping[str, tuple[Reply, ...]]
    given: dict[str, int] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> Reply:
        name = f"{asked.name.lower()}/{asked.type}"
        for key in (f"{name}@{asked.server}", f"@{asked.server}", name):
            if key in self.replies:
                place = self.given.get(key, 0)
                self.given[key] = place + 1
                return self.replies[key][min(place, len(self.replies[key]) - 1)]
        return Reply()


def read_zone(value: object) -> Zone:
    """A decoded JSON object, `{"web.shop.svc.cluster.local./A": {"rcode": "NOERROR", "records": [...]}}`.

    A value may be a list: the first reply, the second, and so on. Raises ZoneError.
    """
    if not isinstance(value, dict):
        raise ZoneError("expected an object of name./TYPE and reply")
    replies = {}
    for key, entry in value.items():
        entries = entry if isinstance(entry, list) else [entry]
        if not entries:
            raise ZoneError(f"{key}: expected a reply, got an empty list")
        replies[_folded(key)] = tuple(_read_reply(each, key) for each in entries)
    return Zone(replies)


def _folded(key: str) -> str:
    """Names are case-insensitive (RFC 4343); types are written in upper case."""
    name, slash, rest = key.rpartition("/")
    return f"{name.lower()}/{rest}" if slash else key


def _read_reply(value: object, key: str) -> Reply:
    if not isinstance(value, dict):
        raise ZoneError(f"{key}: expected an object with rcode and records")
    rcode = value.get("rcode", "NOERROR")
    if rcode not in (*RCODES, *NO_REPLY):
        raise ZoneError(f"{key}.rcode: expected one of {', '.join((*RCODES, *NO_REPLY))}, got {rcode!r}")
    flags: dict[str, bool] = {}
    for name in ("tc", "aa", "ra", "bare"):
        flag = value.get(name, name in ("aa", "ra"))
        if not isinstance(flag, bool):
            raise ZoneError(f"{key}.{name}: expected true or false, got {flag!r}")
        flags[name] = flag
    if unknown := set(value) - {"rcode", "records", *flags}:
        raise ZoneError(f"{key}: unknown field {min(unknown)!r}")
    records = value.get("records", [])
    if not isinstance(records, list):
        raise ZoneError(f"{key}.records: expected a list, got {records!r}")
    return Reply(rcode, tuple(_read_record(each, key) for each in records), **flags)


def _read_record(value: Any, key: str) -> Record:
    fields = value if isinstance(value, dict) else {}
    texts = [fields.get("type"), fields.get("data"), fields.get("name", "")]
    if not all(isinstance(text, str) for text in texts) or set(fields) - {"type", "data", "name", "ttl"}:
        raise ZoneError(f'{key}.records: expected {{"type": "A", "data": "10.96.0.7"}}, got {value!r}')
    return Record(*texts)
