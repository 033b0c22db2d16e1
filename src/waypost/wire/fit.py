"""★7 A reply to the bytes that fit the client: compression only where it is needed, TC where even that is not enough.

The order is answer, authority, additional; the first record that does not fit ends the message (RFC 2181 section 9
for TC). An owner that is the question's name is always a pointer to it, which costs nothing.
"""

from __future__ import annotations

import struct

from waypost.wire import consts
from waypost.wire.edns import ECHOED, Opt, opt_size, pack_opt
from waypost.wire.names import ROOT
from waypost.wire.query import Query
from waypost.wire.rdata import COMPRESSIBLE, LAYOUTS, NAME, TEXT, name_end
from waypost.wire.record import Record, Records
from waypost.wire.reply import Reply, copied_flags

_HEADER = struct.Struct("!HHHHHH")
_FIXED = struct.Struct("!HHIH")
_POINTED = struct.Struct("!HHHIH")
_QUESTION_POINTER = 0xC00C
_HEADER_SIZE = 12
_MAX_POINTER = 0x3FFF
MIN_UDP_SIZE = 512
MAX_STREAM_SIZE = 65535
# Above these a datagram leaves in fragments on a common path, so it is worth compressing.
_V4_FRAGMENT, _V6_FRAGMENT = 1480, 1220


def size_limit(query: Query, *, datagram: bool) -> int:
    """The largest reply in bytes that the client can take (RFC 6891 section 6.2.5)."""
    if not datagram:
        return MAX_STREAM_SIZE
    return max(MIN_UDP_SIZE, query.opt.udp_size) if query.opt is not None else MIN_UDP_SIZE


def reply_size(query: Query, reply: Reply) -> int:
    """Bytes of the reply without compression and without an OPT that only echoes the client's."""
    size = reply.records_size + (len(reply.question) + _HEADER_SIZE if reply.question else query.end)
    return size + opt_size(reply.opt.options) if reply.opt is not None else size


def pack(query: Query, reply: Reply, *, datagram: bool, v6: bool = False) -> bytes:
    """The message for the client that sent `query`: its id and question, the reply's sections, EDNS as asked."""
    opt = b"" if query.opt is None and reply.opt is None else _response_opt(query.opt, reply)
    question = reply.question or query.wire[_HEADER_SIZE : query.end]
    size = _HEADER_SIZE + len(question) + reply.records_size + len(opt)
    if size > MIN_UDP_SIZE:
        limit = size_limit(query, datagram=datagram)
        if size > limit or (datagram and size > (_V6_FRAGMENT if v6 else _V4_FRAGMENT)):
            return _pack_compressed(query, reply, opt, limit)
    answer, authority, additional = reply.answer, reply.authority, reply.additional
    parts = [
        _HEADER.pack(
            query.id,
            consts.QR | query.flags & consts.OPCODE_MASK | reply.flags | reply.rcode & consts.RCODE_MASK,
            1,
            len(answer),
            len(authority),
            len(additional) + (1 if opt else 0),
        ),
        question,
    ]
    qname = query.qname if not reply.question else reply.question[:-4]
    if qname == ROOT:  # the root's own name is shorter than a pointer to it
        qname = b""
    for owner, rtype, rclass, ttl, rdata in answer:
        if owner == qname:
            parts.append(_POINTED.pack(_QUESTION_POINTER, rtype, rclass, ttl, len(rdata)))
        else:
            parts.append(owner)
            parts.append(_FIXED.pack(rtype, rclass, ttl, len(rdata)))
        parts.append(rdata)
    for owner, rtype, rclass, ttl, rdata in authority + additional if additional else authority:
        parts.append(owner)
        parts.append(_FIXED.pack(rtype, rclass, ttl, len(rdata)))
        parts.append(rdata)
    if opt:
        parts.append(opt)
    return b"".join(parts)


def bad_version(query: Query) -> bytes:
    """The answer to an EDNS version that we do not speak (RFC 6891 section 6.1.3)."""
    flags = consts.QR | query.flags & consts.OPCODE_MASK | copied_flags(query)
    header = _HEADER.pack(query.id, flags, 1, 0, 0, 1)
    return header + query.question + pack_opt(0, consts.BADVERS >> 4, 0, 0, ())


def _response_opt(asked: Opt | None, reply: Reply) -> bytes:
    made = reply.opt
    if asked is None:
        if made is None:
            return b""
        return pack_opt(made.udp_size, reply.rcode >> 4, 0, made.flags, made.options)
    if made is None:
        options = asked.options and tuple(option for option in asked.options if option.code in ECHOED)
        return pack_opt(asked.udp_size, reply.rcode >> 4, 0, asked.flags & 0xFF00, options)
    flags = made.flags & 0xFF00 | asked.flags & 0x8000
    return pack_opt(asked.udp_size, reply.rcode >> 4, 0, flags, made.options)


def _pack_compressed(query: Query, reply: Reply, opt: bytes, limit: int) -> bytes:
    question = reply.question or query.wire[_HEADER_SIZE : query.end]
    out = bytearray(_HEADER_SIZE)
    offsets: dict[bytes, int] = {}
    _append_name(out, question[:-4], offsets)
    out += question[-4:]
    room = limit - len(opt)
    counts = [0, 0, 0]
    truncated = False
    for n, section in enumerate((reply.answer, reply.authority, reply.additional)):
        counts[n] = _append_section(out, section, offsets, room)
        if counts[n] < len(section):
            truncated = True
            break
    flags = consts.QR | query.flags & consts.OPCODE_MASK | reply.flags | reply.rcode & consts.RCODE_MASK
    if truncated:
        flags |= consts.TC
    if opt:
        out += opt
    _HEADER.pack_into(out, 0, query.id, flags, 1, counts[0], counts[1], counts[2] + (1 if opt else 0))
    return bytes(out)


def _append_section(out: bytearray, section: Records, offsets: dict[bytes, int], room: int) -> int:
    """Append records while they fit; gives how many did."""
    for n, record in enumerate(section):
        start = len(out)
        _append_record(out, record, offsets)
        if len(out) > room:
            del out[start:]
            return n
    return len(section)


def _append_record(out: bytearray, record: Record, offsets: dict[bytes, int]) -> None:
    owner, rtype, rclass, ttl, rdata = record
    _append_name(out, owner, offsets)
    fixed = len(out)
    out += _FIXED.pack(rtype, rclass, ttl, len(rdata))
    layout = LAYOUTS.get(rtype)
    if layout is None:
        out += rdata
        return
    write_name = _append_name if rtype in COMPRESSIBLE else _append_whole_name
    start = len(out)
    i = 0
    for step in layout:
        if step == NAME:
            end = name_end(rdata, i)
            write_name(out, rdata[i:end], offsets)
        else:
            end = i + (rdata[i] + 1 if step == TEXT else step)
            out += rdata[i:end]
        i = end
    out += rdata[i:]
    struct.pack_into("!H", out, fixed + 8, len(out) - start)


def _append_whole_name(out: bytearray, name: bytes, offsets: dict[bytes, int]) -> None:
    """A name that must not be compressed may still be what later owners point at (SRV targets and their addresses)."""
    at = len(out)
    i = 0
    while (length := name[i]) and at + i <= _MAX_POINTER:
        offsets.setdefault(name[i:], at + i)
        i += length + 1
    out += name


def _append_name(out: bytearray, name: bytes, offsets: dict[bytes, int]) -> None:
    """Append a name, pointing at the longest suffix already written (RFC 1035 section 4.1.4); case is kept."""
    i = 0
    while length := name[i]:
        suffix = name[i:]
        at = offsets.get(suffix)
        if at is not None:
            out += (0xC000 | at).to_bytes(2, "big")
            return
        if len(out) <= _MAX_POINTER:
            offsets[suffix] = len(out)
        out += name[i : i + length + 1]
        i += length + 1
    out.append(0)
