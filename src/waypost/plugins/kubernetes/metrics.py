"""How well the API server is followed: requests under CoreDNS's names, and what no other server tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from waypost.metrics.registry import CounterFamily, GaugeFamily, Registry

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WHERE = ("server", "kind")


class RequestCounters:
    """`kube.client.RequestMetrics` as metrics."""

    __slots__ = ("_duration", "_limiter", "_results")

    def __init__(self, registry: Registry) -> None:
        where = ("verb", "host")
        self._duration = registry.histogram(
            "coredns_kubernetes_rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb and host.",
            _BOUNDS,
            where,
        )
        self._limiter = registry.histogram(
            "coredns_kubernetes_rest_client_rate_limiter_duration_seconds",
            "Client side rate limiter latency in seconds. Broken down by verb and host.",
            _BOUNDS,
            where,
        )
        self._results = registry.counter(
            "coredns_kubernetes_rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
        )

    def throttled(self, verb: str, host: str, seconds: float) -> None:
        """A request waited for the rate limit."""
        self._limiter.labels(verb, host).observe(seconds)

    def answered(self, verb: str, host: str, code: str, seconds: float) -> None:
        """A request was answered."""
        self._duration.labels(verb, host).observe(seconds)
        self._results.labels(code, verb, host).inc()


class Followed(Protocol):
    """What a reflector counts; times on its monotonic clock, None for never."""

    lists: int
    reconnects: int
    events: int
    errors: int
    stale: int
    audits: int
    mended: int
    last_event: float | None
    last_sync: float | None


class _Families(NamedTuple):
    lists: CounterFamily
    reconnects: CounterFamily
    events: CounterFamily
    errors: CounterFamily
    stale: CounterFamily
    audits: CounterFamily
    mended: CounterFamily
    event_age: GaugeFamily
    sync_age: GaugeFamily
    objects: GaugeFamily


class FollowMetrics:
    """One API server's metrics by kind; they are read when they are scraped."""

    __slots__ = ("_families", "_kinds", "_now", "_server")

    def __init__(self, registry: Registry, server: str, now: Callable[[], float] = time.monotonic) -> None:
        name = "waypost_kubernetes_{}".format
        self._families = _Families(
            registry.counter(name("lists_total"), "Counter of full reads of a kind, relists included.", _WHERE),
            registry.counter(name("watch_reconnects_total"), "Counter of watches resumed without a list.", _WHERE),
            registry.counter(name("events_total"), "Counter of watch events, bookmarks included.", _WHERE),
            registry.counter(name("watch_errors_total"), "Counter of failed lists and watches.", _WHERE),
            registry.counter(name("stale_watches_total"), "Counter of watches replaced for their silence.", _WHERE),
            registry.counter(name("audits_total"), "Counter of comparisons of a live watch with a full list.", _WHERE),
            registry.counter(name("mended_objects_total"), "Counter of objects that a watch had lost.", _WHERE),
            registry.gauge(name("last_event_age_seconds"), "Seconds since the last event of a kind.", _WHERE),
            registry.gauge(name("last_sync_age_seconds"), "Seconds since a kind was last read in full.", _WHERE),
            registry.gauge(name("objects"), "Objects of a kind that are kept.", _WHERE),
        )
        self._server = server
        self._kinds: list[str] = []
        self._now = now

    def show(self, kind: str, followed: Followed, objects: Callable[[], int]) -> None:
        """Show one kind's figures; before the first event or sync their ages are -1."""
        where = (self._server, kind)
        families = self._families
        families.lists.labels(*where).read = lambda: followed.lists
        families.reconnects.labels(*where).read = lambda: followed.reconnects
        families.events.labels(*where).read = lambda: followed.events
        families.errors.labels(*where).read = lambda: followed.errors
        families.stale.labels(*where).read = lambda: followed.stale
        families.audits.labels(*where).read = lambda: followed.audits
        families.mended.labels(*where).read = lambda: followed.mended
        families.event_age.labels(*where).read = lambda: self._age(followed.last_event)
        families.sync_age.labels(*where).read = lambda: self._age(followed.last_sync)
        families.objects.labels(*where).read = objects
        self._kinds.append(kind)

    def forget(self) -> None:
        """The server is not followed any more."""
        for family in self._families:
            for kind in self._kinds:
                family.family.forget((self._server, kind))

    def _age(self, moment: float | None) -> float:
        return -1.0 if moment is None else self._now() - moment
