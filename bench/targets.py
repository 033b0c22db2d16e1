"""What Waypost is meant to cost, and whether it does."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from figures import BARE, FLOOR, HALF, OURS, Table, median, ratios

LOGGING = "waypost +log"


class Ratio(NamedTuple):
    """CPU of `server` under `load` is at most `limit` times that of `base`."""

    load: str
    server: str
    base: str
    limit: float


RATIOS = (
    Ratio("mixed", OURS, FLOOR, 1.8),
    Ratio("distinct", OURS, FLOOR, 2.8),
    Ratio("missing", OURS, FLOOR, 3.2),
    Ratio("cached", OURS, FLOOR, 2.0),
    Ratio("cached", OURS, FLOOR, 2.5),
    Ratio("forwarded", OURS, FLOOR, 8.0),
    Ratio("mixed", OURS, BARE, 2.8),
    Ratio("mixed", LOGGING, OURS, 1.6),
    Ratio("mixed", OURS, "coredns", 0.45),
    Ratio("distinct", OURS, "coredns", 0.45),
    Ratio("missing", OURS, "coredns", 0.45),
)
P999_MILLISECONDS = 2.0
START_SECONDS = 0.7


class Verdict(NamedTuple):
    """A median with its lowest and highest, beside what it should be at most."""

    what: str
    value: float
    low: float
    high: float
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        """True if the median is no more than the target."""
        return self.value <= self.limit


def verdicts(table: Table, starts: Mapping[int, Sequence[float]]) -> list[Verdict]:
    """On all that was measured; `starts` are seconds to the first answer by the number of Services."""
    found = [
        _verdict(f"{ratio.load}: {ratio.server} / {ratio.base}", values, ratio.limit, "x")
        for ratio in RATIOS
        if (values := ratios(table, ratio.load, ratio.server, ratio.base))
    ]
    for load, servers in table.items():
        if OURS in servers and HALF in median(servers[OURS]).latencies:
            waits = sorted(one.latencies[HALF].p999 / 1000 for one in servers[OURS])
            found.append(_verdict(f"{load}: p99.9 at half of the saturation rate", waits, P999_MILLISECONDS, "ms"))
    for services, seconds in starts.items():
        found.append(_verdict(f"start to first answer, {services:,} Services", sorted(seconds), START_SECONDS, "s"))
    return found


def _verdict(what: str, values: Sequence[float], limit: float, unit: str) -> Verdict:
    return Verdict(what, statistics.median(values), values[0], values[-1], limit, unit)
