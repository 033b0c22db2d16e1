"""Counts over time in a fixed number of intervals, whatever the span: the intervals double until it fits.

Exact: an interval is always a power of two in seconds and starts at a multiple of it, so two become one without loss.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_WIDTH: Final = 1 << 40


class Interval(NamedTuple):
    """Unix time at which it starts, and the count of each series."""

    start: int
    counts: tuple[int, ...]


class Timeline:
    """Counts of several series in at most `limit` intervals of `width` seconds; times in any order.

    `first` and `last` time are exact.
    """

    __slots__ = ("_counts", "_limit", "_series", "count", "first", "last", "width")

    def __init__(self, series: int, limit: int) -> None:
        self.width = 1
        self.count = 0
        self.first = float("inf")
        self.last = float("-inf")
        self._series = series
        self._limit = limit
        self._counts: dict[int, list[int]] = {}

    def add(self, time: float, series: int) -> None:
        """Count one at a Unix time."""
        index = int(time // self.width)
        counts = self._counts.get(index)
        if counts is None:
            counts = self._open(time)
        counts[series] += 1
        self.count += 1
        if time < self.first:
            self.first = time
        if time > self.last:
            self.last = time

    def intervals(self) -> list[Interval]:
        """All intervals from the first to the last, the empty ones between them too."""
        if not self._counts:
            return []
        none = (0,) * self._series
        return [
            Interval(index * self.width, tuple(self._counts.get(index, none)))
            for index in range(min(self._counts), max(self._counts) + 1)
        ]

    def _open(self, time: float) -> list[int]:
        """The counts of a new interval at a time, with intervals wide enough for the span."""
        while self.width < MAX_WIDTH:
            index = int(time // self.width)
            span = max(index, *self._counts) - min(index, *self._counts) + 1 if self._counts else 1
            if span <= self._limit:
                break
            self._halve()
        return self._counts.setdefault(int(time // self.width), [0] * self._series)

    def _halve(self) -> None:
        self.width *= 2
        merged: dict[int, list[int]] = {}
        for index, counts in self._counts.items():
            known = merged.setdefault(index // 2, [0] * self._series)
            for series, count in enumerate(counts):
                known[series] += count
        self._counts = merged
