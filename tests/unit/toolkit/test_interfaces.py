"""Interface addresses: recorded netlink bytes, damaged ones, and the kernel itself."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.toolkit.interfaces import interface_addresses, parse_addresses


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind: int, family: int, scope: int, index: int, *attributes: bytes) -> bytes:
    body = struct.pack("=BBBBI", family, 64, 0, scope, index) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body


V4 = message(
    20, socket.AF_INET, 0, 2, attribute(1, b"\xc0\0\2\1"), attribute(2, b"\xc0\0\2\2"), attribute(3, b"eth0\0")
)
V6 = message(20, socket.AF_INET6, 0, 2, attribute(1, b"\xfd" + bytes(14) + b"\x02"))
LINK_LOCAL = message(20, socket.AF_INET6, 253, 3, attribute(1, b"\xfe\x80" + bytes(13) + b"\x01"))
OTHER = message(16, socket.AF_INET, 0, 2, attribute(1, bytes(4)))
NO_ADDRESS = message(20, socket.AF_INET, 0, 2)
DONE = struct.pack("=IHHII", 20, 3, 2, 1, 0) + bytes(4)


def test_addresses_of_a_dump() -> None:
    assert list(parse_addresses(V4 + V6 + LINK_LOCAL + OTHER + NO_ADDRESS + DONE)) == [
        (2, "192.0.2.2", False),
        (2, "fd00::2", False),
        (3, "fe80::1", True),
    ]


@given(st.binary(max_size=64))
def test_unknown_messages_are_skipped(data: bytes) -> None:
    header = struct.pack("=IHHII", 16 + len(data), 99, 0, 0, 0)
    assert list(parse_addresses(header + data)) == []


@pytest.mark.parametrize("length", range(0, len(V4), 4))
def test_cut_short_ends_quietly_or_with_what_is_whole(length: int) -> None:
    assert len(list(parse_addresses(V6 + V4[: length if length < 16 else 0]))) == 1


def test_loopback_of_this_machine() -> None:
    found = interface_addresses()
    assert "127.0.0.1" in found["lo"]
    assert set(found) == {name for _, name in socket.if_nameindex()}
