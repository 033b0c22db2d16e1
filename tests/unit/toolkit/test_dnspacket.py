"""The one message of CoreDNS's gRPC service."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.toolkit import dnspacket


@given(st.binary(max_size=70_000))
def test_back_and_forth(message: bytes) -> None:
    assert dnspacket.unpack(dnspacket.pack(message)) == message


def test_as_it_stands_on_a_stream() -> None:
    assert dnspacket.pack(b"abc") == b"\0" + b"\0\0\0\x05" + b"\x0a\x03abc"
    assert dnspacket.pack(bytes(300)).startswith(b"\0\0\0\x01\x2f" + b"\x0a\xac\x02")
    assert len(dnspacket.pack(bytes(dnspacket.MAX_MESSAGE))) == dnspacket.MAX_FRAME
    assert dnspacket.pack(b"") == bytes(5)


def framed(packet: bytes) -> bytes:
    return b"\0" + len(packet).to_bytes(4, "big") + packet


@pytest.mark.parametrize(
    "packet",
    [
        b"\x10\x96\x01" + b"\x0a\x03abc",
        b"\x11" + bytes(8) + b"\x0a\x03abc" + b"\x1d" + bytes(4),
        b"\x0a\x01x" + b"\x0a\x03abc" + b"\x12\x02??",
    ],
    ids=["number before", "fixed around", "given twice"],
)
def test_fields_that_nobody_knows(packet: bytes) -> None:
    assert dnspacket.unpack(framed(packet)) == b"abc"


@pytest.mark.parametrize("packet", [b"\x0a\x04abc", b"\x0a", b"\x0a\xff", b"\xff" * 11, b"\x0c", b"\x11\0"])
def test_what_cannot_be_read(packet: bytes) -> None:
    with pytest.raises(ValueError):
        dnspacket.unpack(framed(packet))


@given(st.binary(max_size=40))
def test_any_bytes(data: bytes) -> None:
    for body in (data, framed(data)):
        try:
            dnspacket.unpack(body)
        except ValueError:
            pass
