"""The counters of forward itself; what concerns single upstreams is counted as `coredns_proxy_*`."""

from __future__ import annotations

from typing import NamedTuple

from waypost.metrics.registry import Counter, Registry


class ForwardMetrics(NamedTuple):
    """Queries that found every upstream down, and queries refused by max_concurrent."""

    healthcheck_broken: Counter
    rejects: Counter


def make_metrics(registry: Registry) -> ForwardMetrics:
    """The counters, shared by every forward of the process."""
    return ForwardMetrics(
        registry.counter(
            "coredns_forward_healthcheck_broken_total",
            "Counter of the number of complete failures of the healthchecks.",
        ).labels(),
        registry.counter(
            "coredns_forward_max_concurrent_rejects_total",
            "Counter of the number of queries rejected because the concurrent queries were at maximum.",
        ).labels(),
    )
