"""Zones written down as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.podside.replies import Asked, ZoneError, read_zone


def rcodes(zone: dict[str, Any], *asked: Asked) -> list[str]:
    answer = read_zone(zone)
    return [answer(each).rcode for each in asked]


A = Asked("Web.Example.", "A", "10.96.0.10", "udp")


def test_absent_is_nxdomain() -> None:
    assert rcodes({"web.example./AAAA": {"rcode": "NOERROR"}}, A) == ["NXDOMAIN"]


def test_case_is_folded() -> None:
    assert rcodes({"WEB.example./A": {"rcode": "NOERROR"}}, A) == ["NOERROR"]


def test_one_after_the_other() -> None:
    assert rcodes({"web.example./A": [{"rcode": "DROP"}, {"rcode": "SERVFAIL"}]}, A, A, A) == [
        "DROP",
        "SERVFAIL",
        "SERVFAIL",
    ]


def test_most_special_key_counts() -> None:
    zone = {
        "@10.96.0.11": {"rcode": "UNREACHABLE"},
        "web.example./A": {"rcode": "NOERROR"},
        "web.example./A@10.96.0.11": {"rcode": "REFUSED"},
        "other./A": {"rcode": "NOERROR"},
    }
    there = A._replace(server="10.96.0.11")
    assert rcodes(zone, A, there, there._replace(name="other.")) == [
        "NOERROR",
        "REFUSED",
        "UNREACHABLE",
    ]


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ([], "expected an object of name./TYPE and reply"),
        ({"a./A": 1}, "a./A: expected an object with rcode and records"),
        ({"a./A": []}, "a./A: expected a reply, got an empty list"),
        ({"a./A": {"rcode": "OK"}}, "a./A.rcode: expected one of NOERROR, FORMERR"),
        ({"a./A": {"rcode": ["x"]}}, "a./A.rcode: expected one of NOERROR, FORMERR"),
        ({"a./A": {"aa": 1}}, "a./A.aa: expected true or false, got 1"),
        ({"a./A": {"recods": []}}, "a./A: unknown field 'recods'"),
        ({"a./A": {"records": {}}}, "a./A.records: expected a list"),
        ({"a./A": {"records": ["10.0.0.1"]}}, "a./A.records: expected {"),
        ({"a./A": {"records": [{"type": "A"}]}}, "a./A.records: expected {"),
    ],
)
def test_faults(zone: Any, text: str) -> None:
    with pytest.raises(ZoneError) as caught:
        read_zone(zone)
    assert str(caught.value).startswith(text)
