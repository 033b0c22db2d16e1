"""The registry in Prometheus's text format, written by prometheus_client, with values as Go writes them.

Beside ours stand the `process_*` and `python_*` metrics of prometheus_client's own collectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.exposition import gzip_accepted as gzip_accepted
from prometheus_client.registry import Collector

from waypost.metrics.processes import Processes
from waypost.metrics.registry import Counter, Family, Gauge, Histogram, Registry

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

# prometheus_client writes whole numbers as `2.0`; dashboards do not care, but people's greps for `} 2$` do.
_WHOLE: Final = re.compile(rb"^((?!#).*)\.0$", re.MULTILINE)


class Exposition:
    """What one scrape shows. `runtime` adds the counters of Python's garbage collector."""

    __slots__ = ("_families", "_own", "_processes", "_registry")

    def __init__(self, registry: Registry, *, runtime: bool = False) -> None:
        self._own = registry
        self._families = _Families()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self._families)
        self._processes = Processes()
        self._registry.register(self._processes)
        PlatformCollector(registry=self._registry)
        if runtime:
            GCCollector(registry=self._registry)

    async def whole(self) -> bytes:
        """The same as `text` for all processes that serve together."""
        if self._own.whole is None:
            return self.text()
        whole = await self._own.whole()
        self._processes.others = whole.pids
        return self._text(whole.families)

    def text(self) -> bytes:
        """Every family of this process that has a cell, of the type CONTENT_TYPE."""
        return self._text(self._own.collect())

    def _text(self, families: Mapping[str, Family]) -> bytes:
        self._families.now = families
        return _WHOLE.sub(rb"\1", generate_latest(self._registry))


class _Families(Collector):
    """Our families as prometheus_client wants to see them."""

    def __init__(self) -> None:
        self.now: Mapping[str, Family] = {}

    def collect(self) -> Iterator[Metric]:
        """Families and their cells in alphabetical order; those without cells are left out, as in Go."""
        for name, family in sorted(self.now.items()):
            if family.cells:
                yield _metric(name, family)


def _metric(name: str, family: Family) -> Metric:
    # prometheus_client puts a counter's `_total` behind the name of the family by itself.
    metric = Metric(name.removesuffix("_total") if family.kind == "counter" else name, family.help, family.kind)
    for values, cell in sorted(family.cells.items(), key=lambda item: item[0]):
        labels = dict(zip(family.labels, values, strict=True))
        if isinstance(cell, Counter | Gauge):
            metric.add_sample(name, labels, cell.value if cell.read is None else cell.read())
        else:
            _add_histogram(metric, name, labels, cell)
    return metric


def _add_histogram(metric: Metric, name: str, labels: dict[str, str], cell: Histogram) -> None:
    bounds: Iterable[str] = [*map(_bound_text, cell.bounds), "+Inf"]
    count = 0
    for bound, count in zip(bounds, accumulate(cell.counts), strict=True):
        metric.add_sample(f"{name}_bucket", {**labels, "le": bound}, count)
    metric.add_sample(f"{name}_sum", labels, cell.total)
    metric.add_sample(f"{name}_count", labels, count)


def _bound_text(bound: float) -> str:
    return repr(float(bound)).removesuffix(".0")
