"""Requests to the API server, under CoreDNS's names."""

from __future__ import annotations

from waypost.metrics.registry import Registry

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


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
