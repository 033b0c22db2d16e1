"""What dnssec counts, under CoreDNS's names."""

from __future__ import annotations

from typing import NamedTuple

from waypost.metrics.registry import Counter, Gauge, Registry


class Metrics(NamedTuple):
    """The cells of one server, counted at each look-up among the kept signatures."""

    entries: Gauge
    hits: Counter
    misses: Counter


class Meters:
    """The families; `of` gives the cells of a server by its label, made once."""

    __slots__ = ("_cells", "_entries", "_hits", "_misses")

    def __init__(self, registry: Registry) -> None:
        self._entries = registry.gauge(
            "coredns_dnssec_cache_entries", "The number of elements in the dnssec cache.", ("server", "type")
        )
        self._hits = registry.counter("coredns_dnssec_cache_hits_total", "The count of cache hits.", ("server",))
        self._misses = registry.counter("coredns_dnssec_cache_misses_total", "The count of cache misses.", ("server",))
        self._cells: dict[str, Metrics] = {}

    def of(self, server: str) -> Metrics:
        """The cells of a server."""
        cells = self._cells.get(server)
        if cells is None:
            cells = self._cells[server] = Metrics(
                self._entries.labels(server, "signature"), self._hits.labels(server), self._misses.labels(server)
            )
        return cells
