"""A histogram of durations with fixed buckets of equal ratio, and the quantiles it gives.

Eight buckets an octave from 1 us to 2**30 us (18 minutes): a quantile is off by at most a factor of 2**(1/16), 4.4 %,
between those ends. Values beyond them count as the ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

LOW: Final = 1e-6
ERROR: Final = 2 ** (1 / 16) - 1
_PER_OCTAVE: Final = 8
_OCTAVES: Final = 30
_LAST: Final = _PER_OCTAVE * _OCTAVES - 1


class Bucket(NamedTuple):
    """How many (`number`) values lie from `low` (included) to `high` seconds."""

    low: float
    high: float
    number: int


class Histogram:
    """Counts values in seconds; the count and the largest value are exact."""

    __slots__ = ("_counts", "count", "largest")

    def __init__(self) -> None:
        self.count = 0
        self.largest = 0.0
        self._counts = [0] * (_LAST + 1)

    def add(self, seconds: float) -> None:
        """Count a finite value that is not negative."""
        self.count += 1
        if seconds > self.largest:
            self.largest = seconds
        self._counts[min(int(math.log2(seconds / LOW) * _PER_OCTAVE), _LAST) if seconds > LOW else 0] += 1

    def quantile(self, share: float) -> float:
        """The value that the given share (above 0, up to 1) of all values does not exceed; 0 if there are none."""
        wanted = math.ceil(share * self.count)
        passed = 0
        for index, count in enumerate(self._counts):
            passed += count
            if passed >= wanted and count:
                middle = LOW * 2 ** ((index + 0.5) / _PER_OCTAVE)
                return min(middle, self.largest)
        return 0.0

    def octaves(self) -> Iterator[Bucket]:
        """The counts by factors of two, from the first that has values to the last."""
        sums = [sum(self._counts[start : start + _PER_OCTAVE]) for start in range(0, _LAST + 1, _PER_OCTAVE)]
        used = [index for index, count in enumerate(sums) if count]
        for index in range(used[0], used[-1] + 1) if used else ():
            yield Bucket(LOW * 2**index, LOW * 2 ** (index + 1), sums[index])
