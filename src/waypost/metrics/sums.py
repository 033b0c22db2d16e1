"""Several processes' metrics as those of one: counters and histograms are summed, gauges by what they mean.

What a process has counted stays in the sum when it is gone, so that no counter goes backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from waypost.metrics.registry import Counter, Family, Gauge, Histogram, Registry

# Gauges that say how things are, and not how much there is: the highest value stands. All others are summed.
STATES: Final = frozenset(
    (
        "coredns_build_info",
        "coredns_hosts_entries",
        "coredns_hosts_reload_timestamp_seconds",
        "coredns_plugin_enabled",
        "coredns_reload_version_info",
        "waypost_kubernetes_snapshot_age_seconds",
        "waypost_loop_detected",
    )
)


class Counted(msgspec.Struct, array_like=True):
    """One cell: its label values, and a value, or for a histogram the counts of its buckets and their total."""

    labels: tuple[str, ...]
    value: float
    counts: list[int] = []
    bounds: tuple[float, ...] = ()


class Shown(msgspec.Struct, array_like=True):
    """One family with its cells."""

    kind: str
    name: str
    help: str
    labels: tuple[str, ...]
    cells: list[Counted]


Count = list[Shown]
"""All that a process has counted."""
_DECODER: Final = msgspec.msgpack.Decoder(Count)


def count(registry: Registry) -> Count:
    """What a process has counted so far."""
    return [_shown(family) for family in registry.collect().values() if family.cells]


def decode(data: bytes) -> Count:
    """A `Count` from MessagePack. Raises msgspec.DecodeError."""
    return _DECODER.decode(data)


def _shown(family: Family) -> Shown:
    cells = [_counted(values, cell) for values, cell in family.cells.items()]
    return Shown(family.kind, family.name, family.help, family.labels, cells)


def _counted(values: tuple[str, ...], cell: Counter | Gauge | Histogram) -> Counted:
    if isinstance(cell, Histogram):
        return Counted(values, cell.total, list(cell.counts), cell.bounds)
    return Counted(values, cell.value if cell.read is None else cell.read())


def begin(registry: Registry) -> None:
    """Count from nothing, with the cells that there are: a process was forked, and what it holds others have counted.

    Gauges keep how things are.
    """
    registry.collect()
    for family in registry.families.values():
        for cell in family.cells.values():
            if isinstance(cell, Histogram):
                cell.counts = [0] * len(cell.counts)
                cell.total = 0.0
            elif isinstance(cell, Counter):
                cell.value = 0.0


def total(counts: Iterable[Count]) -> dict[str, Family]:
    """Families with the sums of what several processes have counted."""
    families: dict[str, Family] = {}
    for shown in (shown for each in counts for shown in each):
        family = families.get(shown.name)
        if family is None:
            make = _maker(shown)
            family = families[shown.name] = Family(shown.kind, shown.name, shown.help, shown.labels, make)
        for counted in shown.cells:
            _add(family, counted, highest=shown.name in STATES)
    return families


def _maker(shown: Shown) -> Callable[[], Counter | Gauge | Histogram]:
    if shown.kind == "counter":
        return Counter
    if shown.kind == "gauge":
        return Gauge
    bounds = shown.cells[0].bounds
    return lambda: Histogram(bounds)


def _add(family: Family, counted: Counted, *, highest: bool) -> None:
    cell = family.cell(counted.labels)
    if isinstance(cell, Histogram):
        cell.counts = [old + new for old, new in zip(cell.counts, counted.counts, strict=True)]
        cell.total += counted.value
    elif highest:
        cell.value = max(cell.value, counted.value)
    else:
        cell.value += counted.value


class Others:
    """What other processes have counted, those that are gone included."""

    __slots__ = ("_gone", "_latest")

    def __init__(self) -> None:
        self._latest: dict[int, Count] = {}
        self._gone: Count = []

    def take(self, process: int, told: Count) -> None:
        """What a process has counted by now."""
        self._latest[process] = told

    def lose(self, process: int) -> None:
        """A process is gone: what it counted stays, what it held is no more."""
        told = self._latest.pop(process, [])
        lasting = [shown for shown in told if shown.kind != "gauge"]
        families: Mapping[str, Family] = total((self._gone, lasting))
        self._gone = [_shown(family) for family in families.values()]

    def counts(self) -> Sequence[Count]:
        """Everything to be summed."""
        return [self._gone, *self._latest.values()]
