"""Waiting times between attempts: doubling, jittered, forgotten after a quiet time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random


class Backoff:
    """Gives the next waiting time. Defaults are client-go's: 0.8 s doubling to 30 s, times 1..2, reset after 2 min."""

    __slots__ = ("_ceiling", "_clock", "_failed_at", "_first", "_quiet", "_rng", "_step")

    def __init__(
        self, clock: Callable[[], float], rng: Random, first: float = 0.8, ceiling: float = 30.0, quiet: float = 120.0
    ) -> None:
        """All times are in seconds."""
        self._clock = clock
        self._rng = rng
        self._first = self._step = first
        self._ceiling = ceiling
        self._quiet = quiet
        self._failed_at = clock()

    def next(self) -> float:
        """Notes a failure now; the seconds to wait before the next attempt."""
        now = self._clock()
        if now - self._failed_at > self._quiet:
            self._step = self._first
        self._failed_at = now
        step, self._step = self._step, min(self._step * 2, self._ceiling)
        return step * (1.0 + self._rng.random())
