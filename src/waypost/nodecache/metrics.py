"""What the watchdog counts; the server has metrics of its own, at another port."""

from __future__ import annotations

from waypost.metrics.registry import Registry
from waypost.nodecache.failure import ERROR_TYPES


class Metrics:
    """Cells of one process."""

    def __init__(self, registry: Registry) -> None:
        self._errors = registry.counter(
            "coredns_nodecache_setup_errors_total",
            "The number of errors during periodic network setup for node-cache.",
            ("errortype",),
        )
        self._rounds = registry.counter(
            "waypost_node_cache_rounds_total", "Rounds of questions to the server, by their result.", ("result",)
        )
        self._withdrawals = registry.counter(
            "waypost_node_cache_withdrawals_total", "How often rules were taken away because the server was silent."
        ).labels()
        self._starts = registry.counter("waypost_node_cache_server_starts_total", "Starts of the server.").labels()
        self._answering = registry.gauge(
            "waypost_node_cache_answering", "1 while the server proves to answer, and so rules may stand."
        ).labels()
        for kind in ERROR_TYPES:
            self._errors.labels(kind)
        for result in ("answered", "silent"):
            self._rounds.labels(result)

    def failed(self, kind: str) -> None:
        """Something could not be set up; `kind` is one of ERROR_TYPES."""
        self._errors.labels(kind).inc()

    def asked(self, answered: bool) -> None:
        """A round ended."""
        self._rounds.labels("answered" if answered else "silent").inc()

    def answering(self, yes: bool) -> None:
        """Whether rules may stand."""
        self._answering.set(float(yes))

    def withdrew(self) -> None:
        """The server fell silent."""
        self._withdrawals.inc()

    def started(self) -> None:
        """The server was started."""
        self._starts.inc()
