"""Padding of answers, read by dnspython."""

from __future__ import annotations

import dns.edns
import dns.message
import dns.rrset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.listeners.padding import framed_and_padded, padded

PADDING = dns.edns.OptionType.PADDING


def answer(size: int, padding: int | None = 10, others: int = 0, after: bool = False) -> bytes:
    """An answer with so many bytes of text, and options as a client's that are sent back."""
    message = dns.message.make_response(dns.message.make_query("example.org.", "TXT", id=7))
    options: list[dns.edns.Option] = [dns.edns.GenericOption(10, bytes(8))] * others
    if padding is not None:
        options.insert(len(options) if not after else 0, dns.edns.GenericOption(PADDING, bytes(padding)))
    message.use_edns(0, options=options, payload=1232)
    message.answer = [dns.rrset.from_text("example.org.", 5, "IN", "TXT", *["x" * 100] * size)]
    return message.to_wire()


@given(st.integers(1, 60), st.integers(0, 700), st.integers(0, 3), st.booleans())
def test_every_length_is_a_multiple(size: int, padding: int, others: int, after: bool) -> None:
    before = answer(size, padding, others, after)
    wire = padded(before)
    assert len(wire) % 468 == 0
    message, was = dns.message.from_wire(wire), dns.message.from_wire(before)
    assert message.answer == was.answer
    assert [each for each in message.options if each.otype != PADDING] == [
        each for each in was.options if each.otype != PADDING
    ]


def test_who_does_not_pad_gets_none() -> None:
    assert padded(answer(3, None, 2)) == answer(3, None, 2)
    plain = dns.message.make_response(dns.message.make_query("example.org.", "A")).to_wire()
    assert padded(plain) == plain


def test_never_longer_than_a_message_may_be() -> None:
    assert len(padded(answer(640, 10))) <= 65_535


@pytest.mark.parametrize("wires", [answer(1), (answer(1), answer(9))])
def test_framed(wires: bytes | tuple[bytes, ...]) -> None:
    data = framed_and_padded(wires)
    sizes = []
    while data:
        size = int.from_bytes(data[:2], "big")
        sizes.append(size)
        data = data[2 + size :]
    assert all(size % 468 == 0 for size in sizes)
    assert len(sizes) == (1 if isinstance(wires, bytes) else 2)
    assert framed_and_padded(None) == b""
