"""A whole DNS message: decoded from an upstream's bytes, and queries made for upstreams."""

from __future__ import annotations

import struct
from typing import NamedTuple

from waypost.wire import consts
from waypost.wire.edns import Opt, parse_options
from waypost.wire.errors import FormErr
from waypost.wire.rdata import read_name, read_rdata
from waypost.wire.record import Record, Records

_HEADER = struct.Struct("!HHHHHH")
_RR_FIXED = struct.Struct("!HHIH")
_QUESTION_POINTER = b"\xc0\x0c"
_TYPE_CLASS = struct.Struct("!HH")


class Message(NamedTuple):
    """A decoded message. `flags` is the whole second header word; `rcode` includes the OPT's upper bits."""

    id: int
    flags: int
    rcode: int
    qdcount: int
    qname: bytes
    qtype: int
    qclass: int
    answer: Records
    authority: Records
    additional: Records
    opt: Opt | None


def decode(wire: bytes) -> Message:
    """Decode a message with at most one question; OPT is taken out of the additional section.

    Raises FormErr. Trailing bytes are ignored.
    """
    if len(wire) < 12:
        raise FormErr("message shorter than its header")
    message_id, flags, qd, an, ns, ar = _HEADER.unpack_from(wire)
    if (an + ns + ar) * 11 > len(wire):  # counts that the bytes cannot hold cost nothing
        raise FormErr("more records promised than the message can hold")
    qname, qtype, qclass, i = b"", 0, 0, 12
    if qd > 1:
        raise FormErr("more than one question")
    try:
        if qd:
            qname, i = read_name(wire, i)
            qtype, qclass = _TYPE_CLASS.unpack_from(wire, i)
            i += 4
        answer, i = _read_section(wire, i, an, qname) if an else ([], i)
        authority, i = _read_section(wire, i, ns, qname) if ns else ([], i)
        additional, i = _read_section(wire, i, ar, qname) if ar else ([], i)
    except struct.error:
        raise FormErr("message cut short") from None
    rcode = flags & consts.RCODE_MASK
    opt = None
    for record in additional:
        if record.rtype == consts.TYPE_OPT:
            opt = Opt(record.rclass, record.ttl >> 16 & 0xFF, record.ttl & 0xFFFF, parse_options(record.rdata))
            rcode |= record.ttl >> 24 << 4
    if opt is not None:
        additional = [record for record in additional if record.rtype != consts.TYPE_OPT]
    return Message(
        message_id,
        flags,
        rcode,
        qd,
        qname,
        qtype,
        qclass,
        tuple(answer),
        tuple(authority),
        tuple(additional),
        opt,
    )


def make_query(message_id: int, flags: int, qname: bytes, qtype: int, qclass: int = consts.CLASS_IN) -> bytes:
    """A query without EDNS; flags are header bits such as RD."""
    header = _HEADER.pack(message_id, flags, 1, 0, 0, 0)
    return header + qname + _TYPE_CLASS.pack(qtype, qclass)


def _read_section(wire: bytes, i: int, count: int, qname: bytes) -> tuple[list[Record], int]:
    records: list[Record] = []
    size = len(wire)
    for _ in range(count):
        if qname and wire[i : i + 2] == _QUESTION_POINTER:
            owner = qname
            i += 2
        else:
            owner, i = read_name(wire, i)
        rtype, rclass, ttl, rdlength = _RR_FIXED.unpack_from(wire, i)
        i += 10
        if i + rdlength > size:
            raise FormErr("rdata cut short")
        records.append(Record(owner, rtype, rclass, ttl, read_rdata(wire, i, rdlength, rtype)))
        i += rdlength
    return records, i


def ttl_places(wire: bytes) -> tuple[int, ...]:
    """Where the TTLs of the records (but OPT's) stand in a whole message with one question. Raises FormErr."""
    _, _, _, *counts = _HEADER.unpack_from(wire)
    _, i = read_name(wire, _HEADER.size)
    i += _TYPE_CLASS.size
    places = []
    for _ in range(sum(counts)):
        _, i = read_name(wire, i)
        rtype, _, _, rdlength = _RR_FIXED.unpack_from(wire, i)
        if rtype != consts.TYPE_OPT:
            places.append(i + _TYPE_CLASS.size)
        i += _RR_FIXED.size + rdlength
    return tuple(places)
