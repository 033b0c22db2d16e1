"""The messages of the gRPC service `coredns.dns.DnsService`: `Query(DnsPacket) returns (DnsPacket)`.

    message DnsPacket { bytes msg = 1; }

One field needs no generated code. On a stream each message has five bytes in front: whether it is compressed, and its
length (gRPC over HTTP/2, "Length-Prefixed-Message").
"""

from __future__ import annotations

from typing import Final

PATH: Final = "/coredns.dns.DnsService/Query"
CONTENT_TYPE: Final = "application/grpc"
PREFIX_SIZE: Final = 5
MAX_MESSAGE: Final = 65_535
MAX_FRAME: Final = PREFIX_SIZE + 4 + MAX_MESSAGE
"""Bytes of a DnsPacket with the largest DNS message, and its prefix."""

OK: Final = 0
UNKNOWN: Final = 2
NOT_FOUND: Final = 5
RESOURCE_EXHAUSTED: Final = 8
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13

_MSG: Final = 1 << 3 | 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED: Final = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT: Final = 10


class Compressed(ValueError):
    """A message in an encoding that nobody agreed on."""


def pack(message: bytes) -> bytes:
    """A DNS message as it stands on a stream."""
    packet = bytes((_MSG,)) + _varint(len(message)) + message if message else b""
    return b"\0" + len(packet).to_bytes(4, "big") + packet


def unpack(body: bytes) -> bytes:
    """The DNS message in all that came on a stream. Raises ValueError; `Compressed` if it is compressed."""
    if len(body) < PREFIX_SIZE or len(body) != PREFIX_SIZE + int.from_bytes(body[1:PREFIX_SIZE], "big"):
        raise ValueError("expected one whole message")
    if body[0]:
        raise Compressed("the message is compressed")
    message = b""
    at = PREFIX_SIZE
    while at < len(body):
        tag, at = _read_varint(body, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _read_varint(body, at)
            continue
        if kind == _BYTES:
            size, at = _read_varint(body, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError(f"a field of kind {kind} cannot be read")
        if at + size > len(body):
            raise ValueError("a field is cut short")
        if tag == _MSG:  # the last one counts
            message = body[at : at + size]
        at += size
    return message


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number, and what is behind it."""
    number = 0
    for n, byte in enumerate(data[at : at + _MAX_VARINT]):
        number |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return number, at + n + 1
    raise ValueError("a number is cut short")
