"""What kind of reply it is, and so: which TTL it gets, whether it is kept, and what it replaces.

A reply has one TTL: the lowest of all its records, within the limits of its kind. It is written to every record of
the reply, kept or not. For a denial the SOA's MINIMUM field counts like a TTL if that is wanted (RFC 2308 section 5);
CoreDNS does not look at it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from waypost.plugins.cache.config import Config
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.record import Record, Records
from waypost.wire.reply import Reply

_BASE_TTL = 5
_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_ERRORS = (consts.SERVFAIL, consts.NOTIMP)
# RRSIG rdata: expiration and inception, seconds since 1970 modulo 2**32 (RFC 4034 section 3.1.5).
_EXPIRATION, _INCEPTION = slice(8, 12), slice(12, 16)
_CIRCLE = 1 << 32


class Kind(Enum):
    """Kinds of replies; the first six may be kept."""

    ANSWER = auto()
    EMPTY = auto()
    """NOERROR without answer, SOA or NS."""
    DELEGATION = auto()
    NODATA = auto()
    NXDOMAIN = auto()
    ERROR = auto()
    DANGLING = auto()
    """NOERROR with records that do not answer the question, such as a CNAME to nowhere, and no SOA."""
    OTHER = auto()
    TRANSFER = auto()


_SUCCESSES = (Kind.ANSWER, Kind.EMPTY, Kind.DELEGATION)
_DENIALS = (Kind.NODATA, Kind.NXDOMAIN)
_NOT_KEPT = {
    Kind.NODATA: "a denial without SOA",
    Kind.NXDOMAIN: "a denial without SOA",
    Kind.DANGLING: "its records do not answer the question",
    Kind.OTHER: "an rcode or a signature that is not kept",
    Kind.TRANSFER: "a zone transfer",
}
_FIXED_TTL = (Kind.DELEGATION, Kind.OTHER, Kind.TRANSFER)


class Verdict(NamedTuple):
    """How to treat a reply.

    `ttl` in seconds goes to every record; `lifetime` is how long an entry counts (0: not kept). `denial` says which
    half of the cache it belongs to. `usable` replies (NOERROR, NXDOMAIN) say something about the name, so they end
    what was known before, even if they are not kept themselves.
    """

    kind: Kind
    ttl: int
    lifetime: float
    denial: bool
    usable: bool


def judge(query: Query, reply: Reply, config: Config, wall: float) -> Verdict:
    """The verdict on a written reply to `query`; `wall` is the time of day in seconds since 1970."""
    kind = kind_of(query, reply, wall)
    if kind is Kind.ERROR:
        return Verdict(kind, int(config.servfail), config.servfail, True, False)
    denial = kind in _DENIALS
    limits = config.denial if denial else config.success
    lowest = _BASE_TTL if kind in _FIXED_TTL else _lowest_ttl(reply, limits.ttl)
    if denial and config.soa_minimum:
        lowest = min([lowest, *_minimums(reply.authority)])
    ttl = min(max(lowest, limits.min_ttl), limits.ttl)
    whole = not reply.flags & consts.TC
    kept = whole and (kind in _SUCCESSES or (denial and _has(reply.authority, consts.TYPE_SOA)))
    usable = whole and (reply.rcode == consts.NXDOMAIN or (reply.rcode == consts.NOERROR and kind is not Kind.OTHER))
    return Verdict(kind, ttl, ttl if kept else 0, denial, usable and kind is not Kind.TRANSFER)


def kind_of(query: Query, reply: Reply, wall: float) -> Kind:
    """The kind of a written reply."""
    if query.qtype in _TRANSFERS:
        return Kind.TRANSFER
    if reply.opt is not None and reply.opt.do and _signature_out_of_date(reply, int(wall)):
        return Kind.OTHER
    if reply.rcode == consts.NOERROR:
        return _kind_of_noerror(query, reply)
    if reply.rcode == consts.NXDOMAIN:
        # With a CNAME in the answer it is the target that does not exist, not the name asked for.
        return Kind.OTHER if reply.answer else Kind.NXDOMAIN
    return Kind.ERROR if reply.rcode in _ERRORS else Kind.OTHER


def _kind_of_noerror(query: Query, reply: Reply) -> Kind:
    if reply.answer and answers(query, reply.answer):
        return Kind.ANSWER
    if _has(reply.authority, consts.TYPE_SOA):
        return Kind.NODATA
    if reply.answer:
        return Kind.DANGLING
    return Kind.DELEGATION if _has(reply.authority, consts.TYPE_NS) else Kind.EMPTY


def told(verdict: Verdict, reply: Reply, *, kept: bool) -> str:
    """Whether the reply is kept, or why not, for an explanation."""
    if verdict.lifetime > 0:
        return f"kept for {verdict.lifetime:g} s" if kept else "not kept: disabled for this zone, or changed meanwhile"
    if reply.flags & consts.TC:
        return "not kept: truncated"
    return f"not kept: {_NOT_KEPT.get(verdict.kind, 'a lifetime of 0 s')}"


def answers(query: Query, records: Records) -> bool:
    """True if a record of the type asked for stands at the end of the CNAME chain that begins at the question."""
    qtype = query.qtype
    if qtype == consts.TYPE_ANY:
        return True
    name = query.name
    first = records[0]
    if first.rtype == qtype and first.owner.lower() == name:
        return True
    owners = {record.owner.lower() for record in records if record.rtype == qtype}
    targets = {record.owner.lower(): record.rdata.lower() for record in records if record.rtype == consts.TYPE_CNAME}
    for _ in range(len(targets) + 1):
        if name in owners:
            return True
        name = targets.get(name, b"")
    return False


def with_ttl(records: Records, ttl: int) -> Records:
    """The same records with one TTL."""
    return tuple(Record(owner, rtype, rclass, ttl, rdata) for owner, rtype, rclass, _, rdata in records)


def _lowest_ttl(reply: Reply, cap: int) -> int:
    ttls = [record.ttl for section in (reply.answer, reply.authority, reply.additional) for record in section]
    return min(min(ttls), cap) if ttls else _BASE_TTL


def _minimums(authority: Records) -> list[int]:
    """The MINIMUM fields of the SOA records in seconds; it is the last field (RFC 1035 section 3.3.13)."""
    return [int.from_bytes(record.rdata[-4:]) for record in authority if record.rtype == consts.TYPE_SOA]


def _has(records: Records, rtype: int) -> bool:
    return any(record.rtype == rtype for record in records)


def _signature_out_of_date(reply: Reply, wall: int) -> bool:
    return any(
        _is_after(wall, record.rdata[_EXPIRATION]) or _is_after(record.rdata[_INCEPTION], wall)
        for section in (reply.answer, reply.authority, reply.additional)
        for record in section
        if record.rtype == consts.TYPE_RRSIG
    )


def _is_after(one: int | bytes, other: int | bytes) -> bool:
    """Serial number arithmetic (RFC 1982) on seconds since 1970; bytes are big-endian."""
    a = int.from_bytes(one, "big") if isinstance(one, bytes) else one
    b = int.from_bytes(other, "big") if isinstance(other, bytes) else other
    return 0 < (a - b) % _CIRCLE < _CIRCLE // 2
