"""Passages by themselves: what is relayed, and what becomes of it when a passage is given up meanwhile."""

from __future__ import annotations

import dns.message
import dns.rrset
import pytest

from waypost.dispatch.ahead import Journey, Passage
from waypost.dispatch.siblings import Families
from waypost.dispatch.tallies import Tallies
from waypost.metrics.traffic import Again
from waypost.wire.relay import plain_end

QUERY = dns.message.make_query("a1.example.org.", "A", id=1)
WIRE = QUERY.to_wire()
END = len(WIRE)


class Returned:
    """A reply with one address."""

    def __init__(self, address: str = "192.0.2.1", ttl: int = 60) -> None:
        response = dns.message.make_response(QUERY)
        response.answer.append(dns.rrset.from_text("a1.example.org.", ttl, "IN", "A", address))
        self.data = response.to_wire()
        self.end = plain_end(self.data, WIRE, END)

    def given(self) -> object:
        return None


class Road:
    """Sends nothing."""

    plugin = object()

    def send(self, journey: Journey) -> bool:
        return False


@pytest.fixture
def counted() -> list[int]:
    return []


def relayed(passage: Passage, returned: Returned) -> bytes | None:
    return passage.relayed(WIRE, 0.0, returned.data, returned.end)


def learned(passage: Passage, counted: list[int]) -> None:
    def repeat(again: Again) -> None:
        counted.append(again.times)

    returned = Returned()
    passage.learn(returned, WIRE[:2] + returned.data[2:], (repeat,))


def test_what_differs_in_address_and_ttl_is_of_one_kind(counted: list[int]) -> None:
    tallies = Tallies()
    passage = Passage(Road(), (), tallies)
    assert relayed(passage, Returned()) is None
    learned(passage, counted)
    other = Returned("192.0.2.77", 7)
    assert relayed(passage, other) == other.data
    tallies.fold()
    assert counted == [1]


@pytest.mark.parametrize("how", ["closed", "cleared"])
def test_a_passage_that_is_given_up_relays_and_learns_nothing(counted: list[int], how: str) -> None:
    """A query may be on its way by it: counted by a tally that nobody folds, it would be missing."""
    tallies = Tallies()
    families = Families(tallies)
    families.send(WIRE, Road(), ())
    (passage,) = families._families.values()
    assert isinstance(passage, Passage)
    learned(passage, counted)
    if how == "closed":
        passage.close()
    else:
        families.clear()
        tallies.clear()
    assert relayed(passage, Returned()) is None
    learned(passage, counted)
    assert relayed(passage, Returned()) is None
    assert tallies._tallies == {}


def test_behind_a_gate_nothing_is_relayed(counted: list[int]) -> None:
    passage = Passage(Road(), (lambda wire: wire == WIRE,), Tallies())
    learned(passage, counted)
    assert relayed(passage, Returned()) is None
    assert (passage.admits(WIRE), passage.admits(b"")) == (True, False)
