"""Is this packet the reply to that question? What is sent upstream, and how what comes back is judged."""

from __future__ import annotations

import struct

from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.wire import consts
from waypost.wire.edns import pack_opt
from waypost.wire.errors import FormErr, Rejected
from waypost.wire.fit import MIN_UDP_SIZE
from waypost.wire.message import Message, decode
from waypost.wire.query import Query, parse_query

_HEADER_SIZE = 12
_COUNTS = struct.Struct("!HHHH")
_FLAGS = struct.Struct("!H")
_RDLENGTH = struct.Struct("!H")


def query_tail(query: Query) -> bytes:
    """The client's message from the flags on, everything in it kept; a fresh id goes in front.

    A plugin may have changed the flags, or taken another OPT than the packet has: then the packet is made anew.
    """
    wire, opt = query.wire, query.opt
    flags = _FLAGS.pack(query.flags)
    if opt is None:
        if wire[10:12] == b"\x00\x00" or _has_opt(query):
            return flags + wire[4:]
        return flags + _COUNTS.pack(1, 0, 0, 0) + query.question
    packed = pack_opt(opt.udp_size, 0, opt.version, opt.flags, opt.options)
    if wire.endswith(packed, query.end) or _has_opt(query):
        return flags + wire[4:]
    return flags + _COUNTS.pack(1, 0, 0, 1) + query.question + packed


def udp_limit(query: Query) -> int:
    """The longest reply in bytes that the question allows over UDP (RFC 6891 section 6.2.5)."""
    return MIN_UDP_SIZE if query.opt is None else max(MIN_UDP_SIZE, query.opt.udp_size)


def judge_datagram(data: bytes, query: Query) -> Message | UpstreamError | None:
    """A datagram with the right id: the reply, why it is none, or None for noise to wait past.

    What is longer than the question allows, or was cut on its way, gives an empty reply with TC set.
    """
    if len(data) <= udp_limit(query):
        try:
            return _checked(decode(data), query)
        except FormErr as exc:
            if not _asks(data, query):
                return None
            if not _is_cut(data, query.end):
                return UpstreamError(f"bad reply: {exc}")
    elif not _asks(data, query):
        return None
    flags = int.from_bytes(data[2:4], "big")
    rcode = flags & consts.RCODE_MASK
    return Message(0, flags | consts.TC, rcode, 1, query.qname, query.qtype, query.qclass, (), (), (), None)


def judge_message(data: bytes, query: Query) -> Message | UpstreamError:
    """A message with the right id from a stream: the reply, or why it is none."""
    try:
        return _checked(decode(data), query)
    except FormErr as exc:
        return UpstreamError(f"bad reply: {exc}")


def _checked(message: Message, query: Query) -> Message | Mismatch:
    if (
        message.flags & consts.QR
        and message.qdcount == 1
        and message.qtype == query.qtype
        and message.qclass == query.qclass
        and message.qname.lower() == query.name
    ):
        return message
    return Mismatch("reply does not answer the question")


def _asks(data: bytes, query: Query) -> bool:
    """True if an undecodable packet is a response with our question, or with as much of it as there are bytes."""
    name_end = _HEADER_SIZE + len(query.name)
    return (
        data[2] & 0x80 != 0
        and data[4:6] == b"\x00\x01"
        and query.name.startswith(data[_HEADER_SIZE:name_end].lower())
        and query.wire[name_end : query.end].startswith(data[name_end : query.end])
    )


def _is_cut(data: bytes, i: int) -> bool:
    """True if the records promised in the header go on behind the packet's end; `i` is where they start."""
    size = len(data)
    for _ in range(sum(_COUNTS.unpack_from(data, 4)[1:])):
        while i < size and 0 < data[i] < 0xC0:
            i += data[i] + 1
        i += 1 if i < size and data[i] == 0 else 2
        if i + 10 > size:
            return True
        i += 10 + _RDLENGTH.unpack_from(data, i + 8)[0]
        if i > size:
            return True
    return False


def _has_opt(query: Query) -> bool:
    """True if the packet, read again, has just the OPT that the query has."""
    try:
        return parse_query(query.wire).opt == query.opt
    except Rejected:
        return False
