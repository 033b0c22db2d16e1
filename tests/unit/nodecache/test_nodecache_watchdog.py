"""When rules may stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.nodecache.watchdog import INTERVAL, PATIENCE, State, after_round

HANG = 30.0


def follow(rounds: str) -> list[bool]:
    """Whether rules stand after each round, `+` answered and `-` not."""
    state, found = State(), []
    for number, each in enumerate(rounds):
        state = after_round(state, each == "+", float(number), HANG).state
        found.append(state.standing)
    return found


@pytest.mark.parametrize(
    ("rounds", "standing"),
    [
        ("+", "1"),
        ("---+", "0001"),
        ("+-+", "111"),
        ("+--", "110"),
        ("+--+", "1100"),
        ("+--++", "11001"),
        ("+--+-++", "1100001"),
        ("+-+-+-", "111111"),
    ],
)
def test_rounds(rounds: str, standing: str) -> None:
    assert follow(rounds) == [each == "1" for each in standing]


def test_a_hang_is_noticed_within_a_couple_of_seconds() -> None:
    """It begins just after a round: a pause, then rounds that fail until rules fall."""
    state, took, pause = State(standing=True, good=5), 0.0, INTERVAL
    while state.standing:
        took += pause + PATIENCE
        state, _, pause = after_round(state, False, took, HANG)
    assert took < 2.5


def test_a_server_that_is_silent_for_long_is_killed() -> None:
    state = State(standing=True)
    for now, kill in ((0.0, False), (29.9, False), (30.0, True)):
        state, killed, _ = after_round(state, False, now, HANG)
        assert killed == kill
    state = after_round(state, True, 31.0, HANG).state
    assert not after_round(state, False, 100.0, HANG).kill
    assert not after_round(State(silent_since=0.0), False, 1e6, 0.0).kill


@given(st.text("+-", max_size=60))
def test_rules_never_stand_after_two_failed_rounds(rounds: str) -> None:
    for number, standing in enumerate(follow(rounds)):
        if rounds[: number + 1].endswith("--"):
            assert not standing
        if rounds[: number + 1].endswith("++"):
            assert standing
