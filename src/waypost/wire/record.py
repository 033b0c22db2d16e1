"""Resource records as values, and the rdata that Waypost builds itself."""

from __future__ import annotations

import struct
from typing import NamedTuple

from waypost.wire import consts

_SRV = struct.Struct("!HHH")
_SOA = struct.Struct("!IIIII")


class Record(NamedTuple):
    """One resource record. `owner` and the names in `rdata` are in wire form, uncompressed; `ttl` in seconds."""

    owner: bytes
    rtype: int
    rclass: int
    ttl: int
    rdata: bytes


Records = tuple[Record, ...]


def address(owner: bytes, ttl: int, packed: bytes) -> Record:
    """An A or AAAA record in class IN, by the length of the packed address."""
    rtype = consts.TYPE_A if len(packed) == 4 else consts.TYPE_AAAA
    return Record(owner, rtype, consts.CLASS_IN, ttl, packed)


def cname(owner: bytes, ttl: int, target: bytes) -> Record:
    """A CNAME record in class IN."""
    return Record(owner, consts.TYPE_CNAME, consts.CLASS_IN, ttl, target)


def ptr(owner: bytes, ttl: int, target: bytes) -> Record:
    """A PTR record in class IN."""
    return Record(owner, consts.TYPE_PTR, consts.CLASS_IN, ttl, target)


def ns(owner: bytes, ttl: int, target: bytes) -> Record:
    """An NS record in class IN."""
    return Record(owner, consts.TYPE_NS, consts.CLASS_IN, ttl, target)


def srv(owner: bytes, ttl: int, priority: int, weight: int, port: int, target: bytes) -> Record:
    """An SRV record in class IN (RFC 2782)."""
    return Record(owner, consts.TYPE_SRV, consts.CLASS_IN, ttl, _SRV.pack(priority, weight, port) + target)


def txt(owner: bytes, ttl: int, *strings: bytes) -> Record:
    """A TXT record in class IN; each string at most 255 bytes."""
    rdata = b"".join(bytes((len(string),)) + string for string in strings)
    return Record(owner, consts.TYPE_TXT, consts.CLASS_IN, ttl, rdata)


def soa(owner: bytes, ttl: int, mname: bytes, rname: bytes, serial: int, timers: tuple[int, int, int, int]) -> Record:
    """An SOA record in class IN; timers are refresh, retry, expire, minimum in seconds."""
    rdata = mname + rname + _SOA.pack(serial & 0xFFFFFFFF, *timers)
    return Record(owner, consts.TYPE_SOA, consts.CLASS_IN, ttl, rdata)


def size(record: Record) -> int:
    """Bytes of the record in a message without compression."""
    return len(record.owner) + 10 + len(record.rdata)
