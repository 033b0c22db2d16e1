"""Addresses that several things have."""

from __future__ import annotations

from waypost.cluster.addressmap import AddressMap


def test_keys_are_sorted_and_each_stands_once() -> None:
    known = AddressMap()
    for key in (b"b", b"a", b"b"):
        known.add(b"address", key)
    assert known.keys(b"address") == (b"a", b"b")
    assert known.keys(b"other") == ()


def test_a_key_stays_as_often_as_it_was_added() -> None:
    known = AddressMap()
    for key in (b"b", b"a", b"b"):
        known.add(b"address", key)
    known.remove(b"address", b"b")
    assert known.keys(b"address") == (b"a", b"b")
    known.remove(b"address", b"b")
    assert known.keys(b"address") == (b"a",)
    known.remove(b"address", b"a")
    assert known.keys(b"address") == ()
    known.remove(b"address", b"a")
    assert known.keys(b"address") == ()
