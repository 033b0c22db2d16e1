"""Queries that come a timeout late, and halves of pairs, with clients as resolvers behave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from support.querylog import survey_of
from waypost.querylog import resends
from waypost.querylog.record import Query
from waypost.querylog.resends import Resends

T = 1_714_560_000.0
Event = tuple[float, str, str]
"""When it arrives, type, port and id."""


def found(events: Iterable[Event], *, seconds: float = 0.0002, client: str = "10.0.0.1", name: str = "a.") -> Resends:
    made = [Query(name, kind, "NOERROR", client, seconds, T + at + seconds, tag) for at, kind, tag in events]
    return survey_of(made).resends


def counts(resends: Resends) -> dict[str, object]:
    fields = ("resent", "again", "unanswered", "late_halves", "pairs", "lone")
    return {field: value for field in fields if (value := getattr(resends, field)) not in (0, [0, 0])}


LATER: Event = (60, "MX", "9/9")
"""So that everything before it can be judged."""


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([(0, "A", "1/1"), (0.001, "AAAA", "1/2")], {"pairs": 1}),
        ([(0, "AAAA", "1/1"), (0.001, "A", "1/2")], {"pairs": 1}),
        ([(0.001, "A", "1/1"), (0, "AAAA", "1/2")], {"pairs": 1}),
        ([(0, "A", "1/1")], {"lone": [1, 0]}),
        ([(0, "AAAA", "1/1")], {"lone": [0, 1]}),
        # glibc: AAAA is lost; after 5 s it sends A again as it was, then AAAA.
        ([(0, "A", "1/1"), (5.005, "A", "1/1"), (5.006, "AAAA", "1/2")], {"resent": 1, "lone": [1, 0], "pairs": 1}),
        # Go: AAAA is lost, and alone sent again from a new port.
        ([(0, "A", "1/1"), (5.01, "AAAA", "2/9")], {"late_halves": 1, "lone": [0, 1]}),
        # musl: the same after 2.5 s.
        ([(0, "AAAA", "1/1"), (2.5, "A", "1/2")], {"late_halves": 1, "lone": [1, 0]}),
        # musl: the reply is lost.
        ([(0, "A", "1/1"), (0, "AAAA", "1/2"), (2.51, "A", "1/1")], {"resent": 1, "pairs": 1, "lone": [1, 0]}),
        # A program that polls every five seconds, in pairs, with new ids.
        ([(at, kind, f"{at}/{kind}") for at in range(0, 20, 5) for kind in ("A", "AAAA")], {"pairs": 4, "again": 3}),
        # The same, IPv4 only.
        ([(at, "A", f"{at}/1") for at in range(0, 20, 5)], {"lone": [4, 0], "again": 3}),
        # A format without port and id cannot tell.
        ([(0, "A", ""), (5, "A", "")], {"lone": [2, 0], "again": 1}),
        # Neither a second program at the same moment nor a look-up much later is a repeat.
        ([(0, "A", "1/1"), (0, "A", "2/2"), (0.1, "AAAA", "1/2"), (0.1, "AAAA", "2/3")], {"pairs": 1}),
        ([(0, "A", "1/1"), (3, "A", "2/2"), (30, "A", "3/3")], {"lone": [3, 0]}),
        ([(0, "SRV", "1/1"), (5, "SRV", "1/1")], {"resent": 1}),
    ],
)
def test_one_client(events: Sequence[Event], expected: dict[str, object]) -> None:
    assert counts(found([*events, LATER])) == expected


def test_the_server_was_slow() -> None:
    """A is answered after six seconds: sent again, and no sign of lost packets. AAAA after it is still its half."""
    made = [
        Query("a.", "A", "SERVFAIL", "10.0.0.1", 6.0, T + 6, "1/1"),
        Query("a.", "A", "SERVFAIL", "10.0.0.1", 6.0, T + 11, "1/1"),
        Query("b.", "A", "NOERROR", "10.0.0.1", 4.0, T + 24, "1/1"),
        Query("b.", "AAAA", "NOERROR", "10.0.0.1", 0.1, T + 24.2, "1/2"),
        Query("c.", "MX", "NOERROR", "10.0.0.1", 0.1, T + 60, "1/2"),
    ]
    assert counts(survey_of(made).resends) == {"unanswered": 1, "pairs": 1, "lone": [2, 0]}


def test_clients_and_names_are_kept_apart() -> None:
    made = [
        Query(name, kind, "NOERROR", client, 0.0, T + 5 * number, "1/1")
        for number, (client, name, kind) in enumerate(
            [("10.0.0.1", "a.", "A"), ("10.0.0.2", "a.", "A"), ("10.0.0.2", "b.", "A")]
        )
    ]
    assert counts(survey_of(made).resends) == {"lone": [2, 0]}


def test_the_end_of_the_log_is_not_judged() -> None:
    assert counts(found([(0, "A", "1/1")])) == {}
    assert counts(found([(0, "A", "1/1"), (2, "MX", "1/1")])) == {"lone": [1, 0]}


def test_per_client() -> None:
    made = [
        Query("a.", "A", "NOERROR", client, 0.0, T + at, "1/1") for at, client in ((0, "10.0.0.1"), (5, "10.0.0.1"))
    ]
    (slot,) = survey_of([*made, Query("b.", "MX", "NOERROR", "10.0.0.1", 0.0, T + 60)]).clients.top()
    assert (slot.value.resent, slot.value.halves) == (1, 2)


def test_time_goes_back() -> None:
    """The logs of two servers, one after the other: nothing is judged across the seam, and the seam is counted."""
    one = [(float(at), kind, f"{at}/{kind}") for at in range(0, 100, 20) for kind in ("A", "AAAA")]
    made = found([*one, *one])
    assert made.back == 1
    assert counts(made)["pairs"] == 10
    assert "lone" not in counts(made)


def test_a_little_disorder_is_none() -> None:
    made = found([(0, "A", "1/1"), (2, "A", "2/2"), (0.5, "AAAA", "1/2"), LATER])
    assert made.back == 0


def test_more_look_ups_than_can_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resends, "_REMEMBERED", 100)
    made = [Query(f"n{number}.", "A", "NOERROR", "10.0.0.1", 0.0, T + number * 1e-3, "1/1") for number in range(1_000)]
    result = survey_of(made).resends
    assert result.unjudged >= 800
    assert sum(result.lone) + result.unjudged <= 1_000
