"""How long a change of endpoints takes from its cause to our answers: CoreDNS's programming latency.

The endpoint slice controller writes the moment of the cause into an annotation; a slice that comes with it as an event
is measured once it is in the index. The first list says nothing about latency and is not measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from waypost.cluster.entries import CLUSTER_IP, HEADLESS, slice_service
from waypost.cluster.index import Index
from waypost.cluster.objects import LAST_CHANGE_TRIGGER, EndpointSlice
from waypost.log import Log
from waypost.metrics.registry import Registry

_BOUNDS = tuple(0.001 * 2**k for k in range(20))
_KINDS = {HEADLESS: "headless_with_selector", CLUSTER_IP: "cluster_ip"}


class LatencySink:
    """The index's sink of EndpointSlices, with a clock beside it. `now` gives Unix seconds."""

    __slots__ = ("_durations", "_index", "_log", "_now", "_sink")

    def __init__(self, index: Index, registry: Registry, log: Log, now: Callable[[], float] = time.time) -> None:
        self._index = index
        self._sink = index.sinks["EndpointSlice"]
        self._log = log
        self._now = now
        self._durations = registry.histogram(
            "coredns_kubernetes_dns_programming_duration_seconds",
            "Histogram of the time (in seconds) it took to program a dns instance.",
            _BOUNDS,
            ("service_kind",),
        )

    def count(self) -> int:
        """How many slices are kept."""
        return self._sink.count()

    def begin_list(self) -> None:
        """A list starts."""
        self._sink.begin_list()

    def listed(self, item: EndpointSlice) -> None:
        """One slice of the running list."""
        self._sink.listed(item)

    def end_list(self) -> None:
        """The list is complete."""
        self._sink.end_list()

    def abort_list(self) -> None:
        """The list broke off."""
        self._sink.abort_list()

    def changed(self, item: EndpointSlice) -> None:
        """A slice was added or modified: take it, then look at the clock."""
        self._sink.changed(item)
        cause = (item.metadata.annotations or {}).get(LAST_CHANGE_TRIGGER)
        entry = self._index.services.get(slice_service(item)) if cause else None
        kind = _KINDS.get(entry.kind) if entry is not None else None
        if cause is None or kind is None:
            return
        try:
            moment = datetime.fromisoformat(cause).timestamp()
        except ValueError as exc:
            name = f"{item.metadata.namespace}/{item.metadata.name}"
            text = f"DnsProgrammingLatency cannot be calculated for Endpoints '{name}'; {exc}"
            self._log.once_a_burst(self._log.warning, text)
            return
        self._durations.labels(kind).observe(max(0.0, self._now() - moment))

    def removed(self, namespace: str, name: str) -> None:
        """A slice was deleted."""
        self._sink.removed(namespace, name)
