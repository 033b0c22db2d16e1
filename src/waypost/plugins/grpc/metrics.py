"""CoreDNS's `coredns_grpc_*` metrics: what each upstream replied."""

from __future__ import annotations

from typing import Final

from waypost.metrics.registry import Counter, Registry
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.wire import consts

_DURATION_BOUNDS: Final = tuple(0.00025 * 2**n for n in range(16))


class GrpcMetrics:
    """The families."""

    def __init__(self, registry: Registry) -> None:
        self.requests = registry.counter(
            "coredns_grpc_requests_total", "Counter of requests made per upstream.", ("to",)
        )
        self.responses = registry.counter(
            "coredns_grpc_responses_total", "Counter of responses received per upstream.", ("rcode", "to")
        )
        self.duration = registry.histogram(
            "coredns_grpc_request_duration_seconds",
            "Histogram of the time each request took.",
            _DURATION_BOUNDS,
            ("to",),
        )


class UpstreamCells:
    """Counts for one upstream. Nobody probes it."""

    def __init__(self, metrics: GrpcMetrics, address: UpstreamAddress) -> None:
        self.probe_failures = Counter()
        self._to = str(address)
        self._responses = metrics.responses
        self._requests = metrics.requests.labels(self._to)
        self._duration = metrics.duration.labels(self._to)

    def replied(self, rcode: int, seconds: float) -> None:
        """It replied, after this long."""
        self._requests.inc()
        self._responses.labels(consts.rcode_text(rcode), self._to).inc()
        self._duration.observe(seconds)
