"""Whether rules may stand: only as long as the server proves to answer. Pure; times come in as arguments."""

from __future__ import annotations

from typing import Final, NamedTuple

INTERVAL: Final = 1.0
"""Seconds between two rounds of questions."""
PATIENCE: Final = 0.6
"""Seconds in which every question of a round must be answered."""
_FALL: Final = 2
_RISE_AGAIN: Final = 2


class State(NamedTuple):
    """What was seen of one server process. `silent_since` is the time of the first of the last failed rounds."""

    standing: bool = False
    fell: bool = False
    good: int = 0
    bad: int = 0
    silent_since: float | None = None


class Decision(NamedTuple):
    """What follows from a round: the new state, whether to kill the server, and how long to wait for the next round."""

    state: State
    kill: bool
    pause: float


def after_round(state: State, answered: bool, now: float, hang_timeout: float) -> Decision:
    """Rules fall after two failed rounds and come back after two good ones; the first time one is enough.

    A server that served and is silent for `hang_timeout` seconds is to be killed (0: never).
    """
    if answered:
        good = state.good + 1
        standing = state.standing or good >= (_RISE_AGAIN if state.fell else 1)
        return Decision(State(standing, state.fell, good), kill=False, pause=INTERVAL)
    bad = state.bad + 1
    since = now if state.silent_since is None else state.silent_since
    standing = state.standing and bad < _FALL
    fell = state.fell or (state.standing and not standing)
    kill = hang_timeout > 0 and now - since >= hang_timeout
    # While rules stand and the last round failed, every moment costs questions.
    return Decision(State(standing, fell, 0, bad, since), kill, 0.0 if standing else INTERVAL)
