"""coredns_cache_* cells."""

from __future__ import annotations

from typing import NamedTuple

from waypost.metrics.registry import Counter, Gauge, Registry
from waypost.metrics.traffic import Again
from waypost.plugins.cache.store import Store

_PLAIN = ("server", "zones", "view")
_TYPED = ("server", "type", "zones", "view")


class Cells(NamedTuple):
    """The cells of one listen address. Pairs are for positive and negative entries, in this order."""

    requests: Counter
    misses: Counter
    prefetches: Counter
    drops: Counter
    stale: Counter
    hits: tuple[Counter, Counter]
    entries: tuple[Gauge, Gauge]
    evictions: tuple[Counter, Counter]

    def missed_again(self, again: Again) -> None:
        """Count more look-ups that found nothing."""
        self.requests.value += again.times
        self.misses.value += again.times

    def hit_again(self, again: Again) -> None:
        """Count more look-ups that found a positive entry."""
        self.requests.value += again.times
        self.hits[0].value += again.times

    def denied_again(self, again: Again) -> None:
        """Count more look-ups that found a negative entry."""
        self.requests.value += again.times
        self.hits[1].value += again.times

    def show_entries(self, store: Store) -> None:
        """Show how many entries there are."""
        self.entries[0].value = len(store.success)
        self.entries[1].value = len(store.denial)


class Meters:
    """Makes the cells of a listen address when its first query comes: handlers do not know their addresses."""

    __slots__ = ("_drops", "_entries", "_evictions", "_hits", "_misses", "_prefetches", "_requests", "_stale")

    def __init__(self, registry: Registry) -> None:
        self._requests = registry.counter("coredns_cache_requests_total", "Queries that the cache looked up.", _PLAIN)
        self._misses = registry.counter("coredns_cache_misses_total", "Look-ups that found nothing to serve.", _PLAIN)
        self._hits = registry.counter("coredns_cache_hits_total", "Look-ups that found an entry.", _TYPED)
        self._entries = registry.gauge("coredns_cache_entries", "Entries in the cache.", _TYPED)
        self._evictions = registry.counter("coredns_cache_evictions_total", "Entries evicted for others.", _TYPED)
        self._prefetches = registry.counter(
            "coredns_cache_prefetch_total", "Refreshes started in the background.", _PLAIN
        )
        self._drops = registry.counter(
            "coredns_cache_drops_total", "Replies not kept because they answer another question.", _PLAIN
        )
        self._stale = registry.counter(
            "coredns_cache_served_stale_total", "Queries answered with an expired entry.", _PLAIN
        )

    def cells(self, server: str, zones: str, view: str) -> Cells:
        """The cells for these labels; `zones` are the cache's zones, joined by commas."""
        success, denial = (server, "success", zones, view), (server, "denial", zones, view)
        return Cells(
            self._requests.labels(server, zones, view),
            self._misses.labels(server, zones, view),
            self._prefetches.labels(server, zones, view),
            self._drops.labels(server, zones, view),
            self._stale.labels(server, zones, view),
            (self._hits.labels(*success), self._hits.labels(*denial)),
            (self._entries.labels(*success), self._entries.labels(*denial)),
            (self._evictions.labels(*success), self._evictions.labels(*denial)),
        )
