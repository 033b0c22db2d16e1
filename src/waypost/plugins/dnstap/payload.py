"""dnstap's Protocol Buffers messages, written by hand: two messages, fourteen fields of three kinds.

Field numbers are those of dnstap.proto (dnstap.info). The encoding is that of proto2: a tag (field number and wire
type), then a varint, four bytes, or a length and bytes. A library would be a dependency for less code than this, and
slower where every query passes.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

CLIENT_QUERY: Final = 5
CLIENT_RESPONSE: Final = 6
FORWARDER_QUERY: Final = 7
FORWARDER_RESPONSE: Final = 8

UDP: Final = 1
TCP: Final = 2
DOT: Final = 3
DOH: Final = 4
DOQ: Final = 7

_INET: Final = 1
_INET6: Final = 2
_V4_MAPPED: Final = bytes(10) + b"\xff\xff"
_SECOND: Final = 1_000_000_000

_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_FIXED: Final = struct.Struct("<I")


def _tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# Dnstap
_IDENTITY, _VERSION, _EXTRA, _MESSAGE = (_tag(field, _BYTES) for field in (1, 2, 3, 14))
_TYPE_MESSAGE: Final = _tag(15, _VARINT) + varint(1)
# Message
_TYPE, _FAMILY, _PROTOCOL = (_tag(field, _VARINT) for field in (1, 2, 3))
_QUERY_ADDRESS, _RESPONSE_ADDRESS = (_tag(field, _BYTES) for field in (4, 5))
_QUERY_PORT, _RESPONSE_PORT, _QUERY_SECONDS = (_tag(field, _VARINT) for field in (6, 7, 8))
_QUERY_NANOSECONDS, _QUERY_MESSAGE = _tag(9, _FIXED32), _tag(10, _BYTES)
_RESPONSE_SECONDS, _RESPONSE_NANOSECONDS = _tag(12, _VARINT), _tag(13, _FIXED32)
_RESPONSE_MESSAGE = _tag(14, _BYTES)


class Event(NamedTuple):
    """A message that was received or sent. Addresses are 4 or 16 bytes, times in nanoseconds since 1970.

    What is not known is left out: an empty address with its port, a time of 0, an empty message.
    """

    kind: int
    protocol: int
    query_time: int
    query_address: bytes = b""
    query_port: int = 0
    response_address: bytes = b""
    response_port: int = 0
    response_time: int = 0
    query: bytes = b""
    response: bytes = b""


def encode_event(event: Event) -> bytes:
    """A `dnstap.Message`. IPv4 addresses written in IPv6 are told as IPv4."""
    query_address, response_address = _shortest(event.query_address), _shortest(event.response_address)
    family = _INET6 if len(query_address or response_address) == 16 else _INET
    parts = [_TYPE, varint(event.kind), _FAMILY, varint(family), _PROTOCOL, varint(event.protocol)]
    if query_address:
        parts += (*_sized(_QUERY_ADDRESS, query_address), _QUERY_PORT, varint(event.query_port))
    if response_address:
        parts += (*_sized(_RESPONSE_ADDRESS, response_address), _RESPONSE_PORT, varint(event.response_port))
    parts += _time(_QUERY_SECONDS, _QUERY_NANOSECONDS, event.query_time)
    if event.query:
        parts += _sized(_QUERY_MESSAGE, event.query)
    if event.response_time:
        parts += _time(_RESPONSE_SECONDS, _RESPONSE_NANOSECONDS, event.response_time)
    if event.response:
        parts += _sized(_RESPONSE_MESSAGE, event.response)
    return b"".join(parts)


class Envelope:
    """What is around each message of one server: its identity and version, either left out if it is empty."""

    __slots__ = ("_head",)

    def __init__(self, identity: bytes, version: bytes) -> None:
        fields = ((_IDENTITY, identity), (_VERSION, version))
        self._head = _TYPE_MESSAGE + b"".join(b"".join(_sized(tag, value)) for tag, value in fields if value)

    def wrap(self, message: bytes, extra: bytes = b"") -> bytes:
        """A `dnstap.Dnstap`."""
        parts = [self._head, *_sized(_MESSAGE, message)]
        if extra:
            parts += _sized(_EXTRA, extra)
        return b"".join(parts)


def _sized(tag: bytes, value: bytes) -> tuple[bytes, bytes, bytes]:
    return tag, varint(len(value)), value


def _time(seconds: bytes, nanoseconds: bytes, time: int) -> tuple[bytes, bytes, bytes, bytes]:
    whole, rest = divmod(time, _SECOND)
    return seconds, varint(whole), nanoseconds, _FIXED.pack(rest)


def _shortest(packed: bytes) -> bytes:
    return packed[12:] if packed.startswith(_V4_MAPPED) else packed
