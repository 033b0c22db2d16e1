"""Metric families whose cells cost one dict look-up and one addition on a query's way.

Cells are plain objects without locks (one thread writes them). A family with labels is asked for a cell once, and the
caller keeps it. Exposition reads the registry (`metrics.expose`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Counter:
    """A number that only grows; `read` replaces the stored value at scrape time."""

    __slots__ = ("read", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.read: Callable[[], float] | None = None

    def inc(self, amount: float = 1) -> None:
        """Add to it."""
        self.value += amount


class Gauge:
    """A number that goes up and down; `read` replaces the stored value at scrape time."""

    __slots__ = ("read", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.read: Callable[[], float] | None = None

    def set(self, value: float) -> None:
        """Set it."""
        self.value = value


class Histogram:
    """Counts of observations by upper bound, not cumulated; the last count is for values above every bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count an observation, or several equal ones."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


Cell = Counter | Gauge | Histogram


class Family:
    """One metric name with its label names and one cell for each combination of label values."""

    __slots__ = ("_make", "cells", "help", "kind", "labels", "name")

    def __init__(self, kind: str, name: str, text: str, labels: tuple[str, ...], make: Callable[[], Cell]) -> None:
        self.kind = kind
        self.name = name
        self.help = text
        self.labels = labels
        self.cells: dict[tuple[str, ...], Cell] = {}
        self._make = make

    def cell(self, values: tuple[str, ...]) -> Cell:
        """The cell for these label values, made on first use."""
        cell = self.cells.get(values)
        if cell is None:
            if len(values) != len(self.labels):
                raise ValueError(f"{self.name} has labels {self.labels}, got {values}")
            cell = self.cells[values] = self._make()
        return cell

    def clear(self) -> None:
        """Forget every cell."""
        self.cells.clear()

    def forget(self, values: tuple[str, ...]) -> None:
        """Forget the cell with these label values: what it counted is gone."""
        self.cells.pop(values, None)


class Whole(NamedTuple):
    """The families of all processes that serve together, and the ids of the others."""

    families: dict[str, Family]
    pids: Sequence[int]


class Registry:
    """Every family of the process. Asking for a known name gives the family that exists: counters survive reloads."""

    __slots__ = ("_shared", "before_scrape", "families", "whole")

    def __init__(self) -> None:
        self.families: dict[str, Family] = {}
        self.before_scrape: list[Callable[[], None]] = []
        """What must be done so that the cells are up to date."""
        self.whole: Callable[[], Awaitable[Whole]] | None = None
        """Where several processes serve: what all of them have counted."""
        self._shared: dict[type, object] = {}

    def shared(self, kind: type[T]) -> T:
        """The one object of a kind that keeps families of this registry, made with the registry on first use."""
        found = self._shared.get(kind)
        if found is None:
            found = self._shared[kind] = kind(self)  # type: ignore[call-arg]  # such kinds take the registry
        assert isinstance(found, kind)
        return found

    def collect(self) -> dict[str, Family]:
        """Every family by name, up to date."""
        for bring in self.before_scrape:
            bring()
        return self.families

    def counter(self, name: str, text: str, labels: Sequence[str] = ()) -> CounterFamily:
        """A family of counters; without labels its one cell exists, with 0, from the start."""
        return CounterFamily(self._family("counter", name, text, labels, Counter))

    def gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> GaugeFamily:
        """A family of gauges."""
        return GaugeFamily(self._family("gauge", name, text, labels, Gauge))

    def histogram(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> HistogramFamily:
        """A family of histograms with these upper bounds."""
        return HistogramFamily(self._family("histogram", name, text, labels, lambda: Histogram(bounds)))

    def _family(self, kind: str, name: str, text: str, labels: Sequence[str], make: Callable[[], Cell]) -> Family:
        family = self.families.get(name)
        if family is None:
            family = self.families[name] = Family(kind, name, text, tuple(labels), make)
            if not labels:
                family.cell(())
        elif family.kind != kind or family.labels != tuple(labels):
            raise ValueError(f"metric {name} exists as a {family.kind} with labels {family.labels}")
        return family


class CounterFamily:
    """Typed access to a family of counters."""

    __slots__ = ("family",)

    def __init__(self, family: Family) -> None:
        self.family = family

    def labels(self, *values: str) -> Counter:
        """The counter with these label values; keep it where it is used often."""
        cell = self.family.cell(values)
        assert isinstance(cell, Counter)
        return cell


class GaugeFamily:
    """Typed access to a family of gauges."""

    __slots__ = ("family",)

    def __init__(self, family: Family) -> None:
        self.family = family

    def labels(self, *values: str) -> Gauge:
        """The gauge with these label values."""
        cell = self.family.cell(values)
        assert isinstance(cell, Gauge)
        return cell


class HistogramFamily:
    """Typed access to a family of histograms."""

    __slots__ = ("family",)

    def __init__(self, family: Family) -> None:
        self.family = family

    def labels(self, *values: str) -> Histogram:
        """The histogram with these label values; keep it where it is used often."""
        cell = self.family.cell(values)
        assert isinstance(cell, Histogram)
        return cell
