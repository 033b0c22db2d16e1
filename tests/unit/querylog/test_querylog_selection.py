"""Which queries are counted."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from waypost.querylog.record import Query
from waypost.querylog.selection import Selection

QUERY = Query("www.example.org.", client="10.0.0.1", time=100.0)


@pytest.mark.parametrize(
    ("selection", "held"),
    [
        (Selection(), True),
        (Selection(zones=["."]), True),
        (Selection(since=100.0), True),
        (Selection(since=100.1), False),
        (Selection(until=100.0), False),
        (Selection(until=100.1), True),
        (Selection(clients=[ip_network("10.0.0.0/24")]), True),
        (Selection(clients=[ip_network("10.1.0.0/24"), ip_network("2001:db8::/32")]), False),
        (Selection(clients=[ip_network("10.1.0.0/24"), ip_network("10.0.0.1")]), True),
        (Selection(zones=["example.org."]), True),
        (Selection(zones=["www.example.org."]), True),
        (Selection(zones=["w.example.org.", "ample.org."]), False),
        (Selection(since=1.0, zones=["example.com."]), False),
    ],
)
def test_holds(selection: Selection, held: bool) -> None:
    assert selection.holds(QUERY) is held


@pytest.mark.parametrize("query", [QUERY._replace(time=None), QUERY._replace(client="")])
def test_what_cannot_be_told_is_not_held(query: Query) -> None:
    assert not Selection(since=1.0, until=200.0, clients=[ip_network("0.0.0.0/0")]).holds(query)


def test_everything() -> None:
    assert Selection().everything
    assert Selection(zones=["."]).everything
    assert not Selection(until=1.0).everything
    assert not Selection(clients=[ip_network("::/0")]).everything
