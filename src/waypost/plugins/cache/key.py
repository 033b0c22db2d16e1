"""Under what an entry is kept: name, type, class and the DO and CD bits, in one run of bytes."""

from __future__ import annotations

import struct
from typing import NamedTuple

from waypost.wire import consts

Key = bytes
"""`name + key_tail(qtype, qclass, do >> DO_SHIFT | cd)`: the name in wire form and lower case, `do` as in the flags of
an OPT record, `cd` as in those of a header."""

DO_SHIFT = 15
_TAIL = struct.Struct("!HHB")
key_tail = _TAIL.pack


class Parts(NamedTuple):
    """What a key says."""

    name: bytes
    qtype: int
    qclass: int
    do: bool
    cd: bool


def name_of(key: Key) -> bytes:
    """The name alone."""
    return key[: -_TAIL.size]


def parts(key: Key) -> Parts:
    """A key taken apart."""
    qtype, qclass, bits = _TAIL.unpack_from(key, len(key) - _TAIL.size)
    return Parts(name_of(key), qtype, qclass, bool(bits & 1), bool(bits & consts.CD))
