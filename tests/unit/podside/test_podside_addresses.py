"""Addresses as Go's older parser takes them."""

from __future__ import annotations

import pytest

from waypost.podside.addresses import parse_cidr, parse_lenient, parse_strict


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.96.0.10", "10.96.0.10"),
        ("010.096.000.010", "10.96.0.10"),
        ("::ffff:10.96.0.10", "10.96.0.10"),
        ("::ffff:010.96.0.10", "10.96.0.10"),
        ("FD00:0:0::A", "fd00::a"),
        ("fd00::0000a", "fd00::a"),
        ("::", "::"),
        ("10.96.0.256", None),
        ("10.96.0", None),
        ("10.96.0.10 ", None),
        ("10..0.1", None),
        ("\N{SUPERSCRIPT TWO}.0.0.1", None),
        ("0" * 5000 + "1.0.0.1", "1.0.0.1"),
        ("9" * 5000 + ".0.0.1", None),
        ("fe80::1%eth0", None),
        ("fd00::zz", None),
        ("", None),
        (":", None),
    ],
)
def test_parse_lenient(text: str, address: str | None) -> None:
    found = parse_lenient(text)
    assert (str(found) if found is not None else None) == address


@pytest.mark.parametrize("text", ["010.0.0.1", "fe80::1%eth0", "", "fd00::00001"])
def test_parse_strict_refuses(text: str) -> None:
    assert parse_strict(text) is None


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("10.96.3.1/16", "10.96.0.0/16"),
        ("10.96.0.0/016", "10.96.0.0/16"),
        ("::ffff:10.96.0.0/108", "10.96.0.0/12"),
        ("fd00::1/64", "fd00::/64"),
        ("10.0.0.0/" + "9" * 5000, None),
        ("10.0.0.0/33", None),
        ("10.0.0.0/", None),
        ("/8", None),
    ],
)
def test_parse_cidr(text: str, network: str | None) -> None:
    found = parse_cidr(text)
    assert (str(found) if found is not None else None) == network
