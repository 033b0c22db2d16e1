"""Addresses between text, packed bytes and reverse names; the one module here that may import socket.

`inet_pton` is pure, and an order of magnitude faster than the ipaddress module.
"""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

_V4_SUFFIX = b"\x07in-addr\x04arpa\x00"
_V6_SUFFIX = b"\x03ip6\x04arpa\x00"
_HEX = b"0123456789abcdef"
_NIBBLES = {digit: value for value, digit in enumerate(_HEX)}


def pack(text: str) -> bytes | None:
    """An address in text to 4 or 16 bytes, None if it is none. A scope id is not accepted."""
    try:
        return inet_pton(AF_INET6 if ":" in text else AF_INET, text)
    except (OSError, ValueError):
        return None


def unpack(packed: bytes) -> str:
    """4 or 16 bytes to canonical text (RFC 5952)."""
    return inet_ntop(AF_INET if len(packed) == 4 else AF_INET6, packed)


def reverse_name(packed: bytes) -> bytes:
    """The PTR owner name of an address, wire form, lower case (RFC 1035 section 3.5, RFC 3596 section 2.5)."""
    if len(packed) == 4:
        return b"".join(bytes((len(o), *o)) for o in (str(b).encode() for b in reversed(packed))) + _V4_SUFFIX
    return b"".join(bytes((1, _HEX[b & 15], 1, _HEX[b >> 4])) for b in reversed(packed)) + _V6_SUFFIX


def from_reverse_name(name: bytes) -> bytes | None:
    """The address whose PTR owner name this is (lower case), None for a partial or any other name."""
    if name.endswith(_V4_SUFFIX):
        return _from_octets(name[: -len(_V4_SUFFIX)])
    if name.endswith(_V6_SUFFIX):
        return _from_nibbles(name[: -len(_V6_SUFFIX)])
    return None


def _from_octets(prefix: bytes) -> bytes | None:
    octets = []
    i = 0
    while i < len(prefix):
        label = prefix[i + 1 : i + 1 + prefix[i]]
        if not label.isdigit() or len(label) > 3 or (label[0] == 0x30 and len(label) > 1) or int(label) > 255:
            return None
        octets.append(int(label))
        i += prefix[i] + 1
    return bytes(reversed(octets)) if len(octets) == 4 else None


def _from_nibbles(prefix: bytes) -> bytes | None:
    if len(prefix) != 64 or prefix[::2] != b"\x01" * 32:
        return None
    nibbles = [_NIBBLES.get(digit, -1) for digit in prefix[1::2]]
    if -1 in nibbles:
        return None
    return bytes(low | high << 4 for low, high in zip(nibbles[-2::-2], nibbles[::-2], strict=True))
