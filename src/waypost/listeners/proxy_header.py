"""The PROXY protocol's headers, version 1 (a line of text) and 2 (binary): for whom a proxy speaks.

What is read follows the specification (haproxy.org, proxy-protocol.txt) to the letter: whoever may send a header may
write any address into it, so nothing is guessed.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final, NamedTuple

from waypost.dispatch.request import Address
from waypost.wire import addr

_V1: Final = b"PROXY "
_V2: Final = b"\r\n\r\n\0\r\nQUIT\n"
_MAX_V1: Final = 107
# Addresses are at most 36 bytes long; the rest is for options, of which ours need none.
_MAX_V2: Final = 2048
_FIXED: Final = struct.Struct("!12sBBH")
_MAX_PORT: Final = 65_535

_LOCAL, _PROXY = 0x20, 0x21
_UNSPEC, _STREAM, _DGRAM = 0, 1, 2
_V4: Final = struct.Struct("!4s4sHH")
_V6: Final = struct.Struct("!16s16sHH")
_FAMILIES: Final = {1: _V4, 2: _V6}
_V1_ADDRESS: Final = {b"TCP4": 4, b"TCP6": 16}


class BadHeader(Exception):
    """It begins like a header and is none."""


class Header(NamedTuple):
    """The client's address, None if the proxy speaks for itself; and how many bytes the header has."""

    source: Address | None
    size: int


class Verdict(Enum):
    """What else the first bytes can be."""

    ABSENT = "no header"
    INCOMPLETE = "the beginning of one"


def parse_header(data: bytes, *, datagram: bool) -> Header | Verdict:
    """The header that the first bytes from a peer begin with. Raises BadHeader.

    A datagram has version 2 and a datagram's address, and all of it.
    """
    if data.startswith(_V2) or _V2.startswith(data):
        found = _version_2(data, datagram=datagram)
    elif data.startswith(_V1) or _V1.startswith(data):
        found = _version_1(data)
        if datagram and found is not Verdict.INCOMPLETE:
            raise BadHeader("version 1 is for streams alone")
    else:
        return Verdict.ABSENT
    if datagram and found is Verdict.INCOMPLETE:
        if len(data) < len(_V2):  # too short for a DNS message as well
            return Verdict.ABSENT
        raise BadHeader("the header is cut short")
    return found


def _version_1(data: bytes) -> Header | Verdict:
    end = data.find(b"\r\n", 0, _MAX_V1)
    if end < 0:
        if len(data) >= _MAX_V1:
            raise BadHeader("the line is too long")
        return Verdict.INCOMPLETE
    size = end + 2
    words = data[:end].split(b" ")
    if words[1] == b"UNKNOWN":
        return Header(None, size)
    length = _V1_ADDRESS.get(words[1])
    if length is None or len(words) != 6:
        raise BadHeader("expected TCP4 or TCP6, two addresses and two ports")
    source, _ = (_packed(word, length) for word in words[2:4])
    port, _ = map(_port, words[4:6])
    return Header(_address(source, port), size)


def _packed(word: bytes, length: int) -> bytes:
    packed = addr.pack(word.decode("ascii", "replace"))
    if packed is None or len(packed) != length:
        raise BadHeader("expected an address of the family that was named")
    return packed


def _port(word: bytes) -> int:
    if not word.isdigit() or len(word) > 5 or (word[0] == 0x30 and len(word) > 1) or int(word) > _MAX_PORT:
        raise BadHeader("expected a port")
    return int(word)


def _version_2(data: bytes, *, datagram: bool) -> Header | Verdict:
    if len(data) < _FIXED.size:
        return Verdict.INCOMPLETE
    _, command, kind, length = _FIXED.unpack_from(data)
    size = _FIXED.size + length
    if command not in (_LOCAL, _PROXY):
        raise BadHeader("expected version 2 and the command LOCAL or PROXY")
    if size > _MAX_V2:
        raise BadHeader("the header is too long")
    if len(data) < size:
        return Verdict.INCOMPLETE
    if command == _LOCAL or kind >> 4 == _UNSPEC:
        return Header(None, size)
    layout = _FAMILIES.get(kind >> 4)
    transport = kind & 0x0F
    if layout is None or transport not in (_STREAM, _DGRAM) or (datagram and transport != _DGRAM):
        raise BadHeader(f"expected an IPv4 or IPv6 address of {'datagrams' if datagram else 'a stream'}")
    if length < layout.size:
        raise BadHeader("the header is too short for its addresses")
    source, _, port, _ = layout.unpack_from(data, _FIXED.size)
    return Header(_address(source, port), size)


def _address(packed: bytes, port: int) -> Address:
    text = addr.unpack(packed)
    return (text, port) if len(packed) == 4 else (text, port, 0, 0)
