"""What was measured, round by round, and what it comes to: medians and ratios within a round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FLOOR, BARE, OURS = "floor", "bare loop", "waypost"
HALF = 50
"""The share of the saturation rate, in percent, at which latencies are compared."""


class Latency(NamedTuple):
    """From question to answer, in microseconds: the median, and what 99 % and 99.9 % of the queries stay below."""

    p50: float
    p99: float
    p999: float


class Figures(NamedTuple):
    """One server under one load, in one round or the median of several.

    `cpu` is in microseconds a query, `rate` in queries a second when as many are asked as are answered; `latencies` by
    the share of that rate in percent; `lost` counts queries.
    """

    cpu: float
    rate: float
    lost: float
    latencies: Mapping[int, Latency]


Table = dict[str, dict[str, list[Figures]]]
"""The rounds by load and server."""


def median(rounds: Sequence[Figures]) -> Figures:
    """Each figure's median."""
    cpu, rate, lost = (statistics.median(getattr(one, name) for one in rounds) for name in ("cpu", "rate", "lost"))
    latencies = {
        share: Latency(*map(statistics.median, zip(*(one.latencies[share] for one in rounds), strict=True)))
        for share in rounds[0].latencies
    }
    return Figures(cpu, rate, lost, latencies)


def ratios(table: Table, load: str, server: str, base: str) -> list[float]:
    """CPU of a server in terms of another's, in ascending order, one for each round; empty if either is missing."""
    servers = table.get(load, {})
    pairs = zip(servers.get(server, ()), servers.get(base, ()), strict=False)
    return sorted(ours.cpu / theirs.cpu for ours, theirs in pairs if theirs.cpu)


def percentiles(seconds: Sequence[float]) -> Latency:
    """Of latencies in ascending order, at least one."""
    return Latency(*(seconds[min(int(len(seconds) * share), len(seconds) - 1)] * 1e6 for share in (0.5, 0.99, 0.999)))
