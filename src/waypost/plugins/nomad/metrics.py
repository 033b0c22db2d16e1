"""What nomad counts, under CoreDNS's names."""

from __future__ import annotations

from waypost.metrics.registry import Registry


class Metrics:
    """Questions by server and namespace.

    Clients may ask for any namespace. Only those that were seen to have a service get a cell of their own; failures in
    others are counted under an empty one.
    """

    __slots__ = ("_failed", "_known", "_success")

    def __init__(self, registry: Registry) -> None:
        labels = ("server", "namespace")
        self._success = registry.counter(
            "coredns_nomad_success_requests_total", "Counter of DNS requests handled successfully.", labels
        )
        self._failed = registry.counter(
            "coredns_nomad_failed_requests_total", "Counter of DNS requests failed.", labels
        )
        self._known: set[str] = set()

    def succeeded(self, server: str, namespace: str) -> None:
        """Count a question for a service that is there."""
        self._known.add(namespace)
        self._success.labels(server, namespace).inc()

    def failed(self, server: str, namespace: str) -> None:
        """Count a question for one that is not, or that could not be answered."""
        self._failed.labels(server, namespace if namespace in self._known else "").inc()
