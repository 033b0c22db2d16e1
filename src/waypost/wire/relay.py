"""Replies of upstreams whose records can be handed on as they are: told from the bytes, without decoding them."""

from __future__ import annotations

import struct

from waypost.wire import consts

_MOST = 32
_COUNTS = {struct.pack("!HHHH", 1, n, 0, opt): (n, opt) for n in range(_MOST) for opt in (0, 1)}
"""Answers and additional records by the counts in the header, for one question and no authority."""
_POINTER = b"\xc0\x0c"
_ADDRESSES = {
    struct.pack("!HH", consts.TYPE_A, consts.CLASS_IN): (b"\x00\x04", 16),
    struct.pack("!HH", consts.TYPE_AAAA, consts.CLASS_IN): (b"\x00\x10", 28),
}
"""RDLENGTH and bytes of a whole record whose owner is a pointer, by type and class."""
# The root's name and the type; behind the class, the first octet of the TTL has the rcode's upper bits.
_OPT = b"\x00\x00\x29"
_QR = 0x80


def plain_end(wire: bytes, query: bytes, end: int) -> int:
    """Where the answer section of a plain reply to a query ends in it, 0 if the reply is not plain.

    The query's question ends at `end`. A plain reply is a response to just that question, as it was spelled; its answer
    is address records of the name and the type asked for, each with a pointer to the question for an owner; behind that
    there is nothing, or one OPT record that adds nothing to the rcode (what else it says is for somebody who decodes
    it).
    """
    counts = _COUNTS.get(wire[4:12])
    if counts is None or wire[12:end] != query[12:end] or not wire[2] & _QR:
        return 0
    answers, opt = counts
    i = end
    if answers:
        kind = query[end - 4 : end]
        address = _ADDRESSES.get(kind)
        if address is None:
            return 0
        length, size = address
        head = _POINTER + kind
        for _ in range(answers):
            if wire[i : i + 6] != head or wire[i + 10 : i + 12] != length:
                return 0
            i += size
    if not opt:
        return i if i == len(wire) else 0
    return i if wire[i : i + 3] == _OPT and wire[i + 5 : i + 6] == b"\x00" else 0
