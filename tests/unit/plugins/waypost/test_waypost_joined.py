"""Admin answers of several processes as one."""

from __future__ import annotations

import json

from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.plugins.waypost.joined import FLUSHES, LISTINGS, TOTAL, as_json


def listing(total: int, *entries: str) -> HttpResponse:
    return as_json([dict(zip(("name", "type"), entry.split(), strict=True)) for entry in entries], (TOTAL, str(total)))


def request(query: str = "") -> HttpRequest:
    return HttpRequest("GET", "/cache", query, {})


def test_entries_are_in_order_and_as_many_as_were_asked_for() -> None:
    one, other = listing(2, "a.org. A", "c.org. A"), listing(7, "a.org. AAAA", "b.org. A")
    joined = LISTINGS.join(request("limit=3"), [other, one])
    found = [f"{entry['name']} {entry['type']}" for entry in json.loads(joined.body)]
    assert found == ["a.org. A", "a.org. AAAA", "b.org. A"]
    assert dict(joined.headers)[TOTAL] == "9"
    assert len(json.loads(LISTINGS.join(request(), [other, one]).body)) == 4


def test_flushes_are_counted_together() -> None:
    assert json.loads(FLUSHES.join(request(), [as_json({"flushed": 2}), as_json({"flushed": 3})]).body) == {
        "flushed": 5
    }


def test_a_part_of_the_answers_is_none() -> None:
    gone = plain(503, "worker 1 does not run\n")
    assert LISTINGS.join(request(), [listing(1, "a.org. A"), gone]) == gone
    assert FLUSHES.join(request(), [as_json({"flushed": 2}), gone]) == gone


def test_a_wrong_argument_is_everybodys_answer() -> None:
    wrong = plain(400, "limit 'x' is not a number\n")
    assert LISTINGS.join(request("limit=x"), [wrong, wrong]) == wrong
