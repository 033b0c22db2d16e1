"""What metrics say of one kind that is followed."""

from __future__ import annotations

from waypost.kube.following import Counters
from waypost.metrics.registry import Counter, Gauge, Registry
from waypost.plugins.kubernetes.metrics import FollowMetrics

WHERE = ("https://api", "Service")


def values(registry: Registry) -> dict[str, float]:
    return {
        name.removeprefix("waypost_kubernetes_"): cell.read()
        for name, family in registry.families.items()
        if isinstance(cell := family.cells.get(WHERE), (Counter, Gauge)) and cell.read is not None
    }


def test_every_counter_is_shown() -> None:
    registry = Registry()
    metrics = FollowMetrics(registry, WHERE[0], now=lambda: 110.0)
    counters = Counters()
    metrics.show("Service", counters, lambda: 7)
    assert {name: value for name, value in values(registry).items() if value} == {
        "last_event_age_seconds": -1.0,
        "last_sync_age_seconds": -1.0,
        "objects": 7,
    }
    counters.lists, counters.reconnects, counters.events, counters.errors = 1, 2, 3, 4
    counters.stale, counters.audits, counters.mended = 5, 6, 8
    counters.last_event, counters.last_sync = 100.0, 50.0
    assert values(registry) == {
        "lists_total": 1,
        "watch_reconnects_total": 2,
        "events_total": 3,
        "watch_errors_total": 4,
        "stale_watches_total": 5,
        "audits_total": 6,
        "mended_objects_total": 8,
        "last_event_age_seconds": 10.0,
        "last_sync_age_seconds": 60.0,
        "objects": 7,
    }
    metrics.forget()
    assert values(registry) == {}
