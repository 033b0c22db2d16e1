"""The judge judged: a reply that is not as recorded is noticed, whatever is wrong with it."""

from __future__ import annotations

from typing import Any

import dns.message
import dns.rrset
import pytest

from support.suite_runner.normal_form import differences, normal_form
from support.suite_runner.suite import fill

QUESTION = "example.org. IN SOA"


def form(*records: str, question: str = "example.org.", rdtype: str = "SOA") -> dict[str, Any]:
    """The normal form of a reply with these answers."""
    reply = dns.message.make_response(dns.message.make_query(question, rdtype, use_edns=1232))
    for record in records:
        owner, ttl, kind, rdata = record.split(" ", 3)
        reply.answer.append(dns.rrset.from_text(owner, int(ttl), "IN", kind, rdata))
    return normal_form(reply)


EXPECTED = {field: value for field, value in form("example.org. 30 SOA a. b. 7 1 2 3 4").items() if field != "question"}


def test_the_same_reply_does_not_differ() -> None:
    assert differences(EXPECTED, form("example.org. 30 SOA a. b. 7 1 2 3 4"), question=QUESTION) == []


@pytest.mark.parametrize(
    ("field", "actual"),
    [
        ("answer", form("example.org. 29 SOA a. b. 7 1 2 3 4")),
        ("answer", form("example.org. 30 SOA a. b. 8 1 2 3 4")),
        ("answer", form()),
        ("question", form("example.org. 30 SOA a. b. 7 1 2 3 4", question="Example.org.")),
        ("flags", {**form("example.org. 30 SOA a. b. 7 1 2 3 4"), "flags": ["QR", "RD", "TC"]}),
        ("edns", {**form("example.org. 30 SOA a. b. 7 1 2 3 4"), "edns": None}),
        ("rcode", {**form("example.org. 30 SOA a. b. 7 1 2 3 4"), "rcode": "NXDOMAIN"}),
        ("timeout", {"timeout": True}),
        ("error", {"error": "refused"}),
    ],
)
def test_what_differs_is_named(field: str, actual: dict[str, Any]) -> None:
    assert [each.field for each in differences(EXPECTED, actual, question=QUESTION)] == [field]


def test_silence_that_was_expected() -> None:
    assert differences({"timeout": True}, {"timeout": True}) == []
    assert [each.field for each in differences({"timeout": True}, form())] == ["timeout"]


def test_only_the_fields_to_compare_count() -> None:
    assert differences({"rcode": "NOERROR", "answer": ["x"]}, form(), compare=["rcode"], question=QUESTION) == []


def test_a_masked_serial_stands_for_any() -> None:
    expected = {"answer": ["example.org. 30 SOA a. b. SERIAL 1 2 3 4"]}
    assert differences(expected, form("example.org. 30 SOA a. b. 99 1 2 3 4")) == []
    assert differences(expected, form("example.org. 30 SOA a. b. 99 1 2 3 5")) != []


def test_placeholders_are_replaced_in_nested_values() -> None:
    assert fill({"{A}": ["x{A}", 1, None]}, {"A": "7"}) == {"7": ["x7", 1, None]}
