"""Programming latency: what is measured, and what is not."""

from __future__ import annotations

import io

import pytest

from support.objects import endpoint, endpoint_slice, make_index, service
from waypost.cluster.objects import LAST_CHANGE_TRIGGER, EndpointSlice
from waypost.log import Log
from waypost.metrics.registry import Histogram, Registry
from waypost.plugins.kubernetes.latency import LatencySink

CAUSE = "2023-11-14T22:13:20.123456789Z"
NAME = "coredns_kubernetes_dns_programming_duration_seconds"


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def sink(registry: Registry, stream: io.StringIO) -> LatencySink:
    index = make_index(service("a/web", "10.0.0.1"), service("a/db", "None"), service("a/out", external="x.org"))
    return LatencySink(index, registry, Log(stream), now=lambda: 1_700_000_010.5)


def slices(of: str, cause: str | None) -> EndpointSlice:
    item = endpoint_slice("a/s", endpoint("10.1.0.1"), of=of)
    if cause is not None:
        item.metadata.annotations = {LAST_CHANGE_TRIGGER: cause}
    return item


def seen(registry: Registry) -> dict[str, float]:
    cells = registry.families[NAME].cells
    return {kind: cell.total for (kind,), cell in cells.items() if isinstance(cell, Histogram)}


def test_events_are_measured_by_kind(sink: LatencySink, registry: Registry) -> None:
    sink.changed(slices("web", "2023-11-14T22:13:20.25Z"))
    sink.changed(slices("db", "2023-11-14T22:13:30Z"))
    assert seen(registry) == {"cluster_ip": 10.25, "headless_with_selector": 0.5}
    assert sink.count() == 1


@pytest.mark.parametrize(
    ("of", "cause"), [("web", None), ("out", "2023-11-14T22:13:20Z"), ("nobody", "2023-11-14T22:13:20Z")]
)
def test_what_has_no_cause_or_service_is_not(sink: LatencySink, registry: Registry, of: str, cause: str | None) -> None:
    sink.changed(slices(of, cause))
    assert seen(registry) == {}


def test_lists_are_not_measured(sink: LatencySink, registry: Registry) -> None:
    sink.begin_list()
    sink.listed(slices("web", "2023-11-14T22:13:20Z"))
    sink.end_list()
    assert (seen(registry), sink.count()) == ({}, 1)
    sink.removed("a", "s")
    assert sink.count() == 0


def test_a_bad_time_is_said_once(sink: LatencySink, registry: Registry, stream: io.StringIO) -> None:
    for _ in range(3):
        sink.changed(slices("web", "yesterday"))
    assert seen(registry) == {}
    assert stream.getvalue().count("DnsProgrammingLatency cannot be calculated for Endpoints 'a/s'") == 1
