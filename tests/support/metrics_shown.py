"""What a dashboard sees of a process."""

from __future__ import annotations

from support.chain import FakeProcess
from waypost.metrics.registry import Counter, Gauge, Histogram


def scraped(process: FakeProcess) -> dict[str, object]:
    """Every metric, but for how long things took."""
    out: dict[str, object] = {}
    for name, family in process.metrics.collect().items():
        for labels, cell in family.cells.items():
            if isinstance(cell, Histogram):
                out[f"{name}{labels}"] = sum(cell.counts) if "duration" in name else (cell.counts, cell.total)
            elif isinstance(cell, Counter | Gauge):
                out[f"{name}{labels}"] = cell.value
    return out
