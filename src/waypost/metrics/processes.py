"""The `process_*` metrics of prometheus_client for several processes together."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

_CPU: Final = "process_cpu_seconds"
# Everything else is summed: memory, descriptors, CPU time. Shared pages count in each process, as ever with RSS.
_OF_THIS_PROCESS: Final = frozenset(("process_start_time_seconds", "process_max_fds"))


class Processes(Collector):
    """This process and the `others`, by id. Without others it shows what prometheus_client does."""

    def __init__(self) -> None:
        self.others: Sequence[int] = ()
        self._several = False

    def collect(self) -> Iterator[Metric]:
        """The metrics; one process of several that is gone leaves its CPU time behind."""
        self._several |= bool(self.others)
        own = {metric.name: metric for metric in _of()}
        for pid in self.others:
            for metric in _of(pid):
                if metric.name in own and metric.name not in _OF_THIS_PROCESS:
                    _add(own[metric.name], metric.samples[0].value)
        if self._several and _CPU in own:
            gone = resource.getrusage(resource.RUSAGE_CHILDREN)
            _add(own[_CPU], gone.ru_utime + gone.ru_stime)
        yield from own.values()


def _of(pid: int | None = None) -> Iterator[Metric]:
    collector = ProcessCollector(registry=None) if pid is None else ProcessCollector(pid=lambda: pid, registry=None)
    yield from collector.collect()


def _add(metric: Metric, value: float) -> None:
    metric.samples = [sample._replace(value=sample.value + value) for sample in metric.samples]
