"""Names between text and wire form: the cases that dnspython does not decide for us."""

from __future__ import annotations

import pytest

from waypost.wire import addr, names
from waypost.wire.errors import BadName


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        (".", b"\x00"),
        ("", b"\x00"),
        ("a", b"\x01a\x00"),
        ("a.B.", b"\x01a\x01B\x00"),
        (r"a\.b.c", b"\x03a.b\x01c\x00"),
        (r"\255.org", b"\x01\xff\x03org\x00"),
    ],
)
def test_from_text(text: str, wire: bytes) -> None:
    assert names.from_text(text) == wire


@pytest.mark.parametrize("text", ["a..b", ".a", "x" * 64, ".".join(["a" * 60] * 5), r"\300.a", "a\\"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(BadName):
        names.from_text(text)


def test_the_longest_name_fits() -> None:
    text = ".".join(["a" * 63] * 3 + ["b" * 61])
    assert len(names.from_text(text)) == 255


def test_is_within_is_not_fooled_by_a_length_byte_inside_a_label() -> None:
    assert not names.is_within(b"\x06ab\x03foo\x00", b"\x03foo\x00")
    assert names.is_within(b"\x02ab\x03foo\x00", b"\x03foo\x00")
    assert names.is_within(b"\x02ab\x03foo\x00", b"\x00")


def test_walks() -> None:
    name = names.from_text("a.b.c.")
    assert [names.to_text(suffix) for suffix in names.suffixes(name)] == ["a.b.c.", "b.c.", "c.", "."]
    assert names.parent(names.from_text("c.")) == names.ROOT == names.parent(names.ROOT)
    assert names.count_labels(name) == 3


@pytest.mark.parametrize(
    "name",
    [
        "1.2.3.in-addr.arpa.",
        "256.2.3.4.in-addr.arpa.",
        "01.2.3.4.in-addr.arpa.",
        "x.2.3.4.in-addr.arpa.",
        "5.1.2.3.4.in-addr.arpa.",
        "in-addr.arpa.",
        "1.0.0.ip6.arpa.",
        ".".join(["g"] + ["0"] * 31) + ".ip6.arpa.",
        "example.org.",
    ],
)
def test_partial_and_odd_reverse_names_are_no_addresses(name: str) -> None:
    assert addr.from_reverse_name(names.from_text(name)) is None


@pytest.mark.parametrize("text", ["", "1.2.3", "1.2.3.4.5", "fe80::1%eth0", "1.2.3.4\x00", "::g"])
def test_what_is_no_address(text: str) -> None:
    assert addr.pack(text) is None
