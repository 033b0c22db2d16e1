"""CoreDNS's `coredns_proxy_*` metrics, which every plugin that asks upstreams shares."""

from __future__ import annotations

from typing import NamedTuple

from waypost.metrics.registry import Counter, Histogram, HistogramFamily, Registry
from waypost.toolkit.upstream_address import DNS, HTTPS, QUIC, TLS, UpstreamAddress
from waypost.wire import consts

_STREAM_PROTO = {DNS: "tcp", TLS: "tcp-tls", HTTPS: "https", QUIC: "quic"}
_DURATION_BOUNDS = tuple(0.00025 * 2**n for n in range(16))


class SocketCache(NamedTuple):
    """Counts how often an open socket or connection was there to use, and how often not."""

    hits: Counter
    misses: Counter


class UpstreamMetrics:
    """The cells of one upstream."""

    __slots__ = ("_by_rcode", "_duration", "_labels", "datagrams", "probe_failures", "streams")

    def __init__(
        self,
        labels: tuple[str, str],
        duration: HistogramFamily,
        probe_failures: Counter,
        datagrams: SocketCache,
        streams: SocketCache,
    ) -> None:
        self.probe_failures = probe_failures
        self.datagrams = datagrams
        self.streams = streams
        self._labels = labels
        self._duration = duration
        self._by_rcode: dict[int, Histogram] = {}

    def replied(self, rcode: int, seconds: float) -> None:
        """Count one reply."""
        cell = self._by_rcode.get(rcode)
        if cell is None:
            cell = self._by_rcode[rcode] = self._duration.labels(*self._labels, consts.rcode_text(rcode))
        cell.observe(seconds)


class ProxyMetrics:
    """The families; `proxy_name` is the directive's name."""

    __slots__ = ("_duration", "_hits", "_misses", "_name", "_probe_failures")

    def __init__(self, registry: Registry, proxy_name: str) -> None:
        self._name = proxy_name
        self._duration = registry.histogram(
            "coredns_proxy_request_duration_seconds",
            "Histogram of the time each request took.",
            _DURATION_BOUNDS,
            ("proxy_name", "to", "rcode"),
        )
        self._probe_failures = registry.counter(
            "coredns_proxy_healthcheck_failures_total",
            "Counter of the number of failed healthchecks.",
            ("proxy_name", "to"),
        )
        self._hits = registry.counter(
            "coredns_proxy_conn_cache_hits_total",
            "Counter of connection cache hits per upstream and protocol.",
            ("proxy_name", "to", "proto"),
        )
        self._misses = registry.counter(
            "coredns_proxy_conn_cache_misses_total",
            "Counter of connection cache misses per upstream and protocol.",
            ("proxy_name", "to", "proto"),
        )

    def for_upstream(self, address: UpstreamAddress) -> UpstreamMetrics:
        """The cells for one upstream."""
        labels = (self._name, str(address))
        return UpstreamMetrics(
            labels,
            self._duration,
            self._probe_failures.labels(*labels),
            self._cache(labels, "udp"),
            self._cache(labels, _STREAM_PROTO[address.scheme]),
        )

    def _cache(self, labels: tuple[str, str], proto: str) -> SocketCache:
        return SocketCache(self._hits.labels(*labels, proto), self._misses.labels(*labels, proto))
