"""Query traffic: what is counted on a query's way, and what a scrape makes of it."""

from __future__ import annotations

from support.chain import make_request
from waypost.metrics.registry import Counter, Histogram, Registry
from waypost.metrics.traffic import Traffic


def cells(registry: Registry, name: str) -> dict[tuple[str, ...], float]:
    family = registry.collect()[f"coredns_dns_{name}"]
    out = {}
    for labels, cell in family.cells.items():
        assert isinstance(cell, Counter | Histogram)
        out[labels] = cell.value if isinstance(cell, Counter) else sum(cell.counts)
    return out


def test_one_traffic_and_one_meter_for_equal_places() -> None:
    registry = Registry()
    assert registry.shared(Traffic) is registry.shared(Traffic)
    traffic = registry.shared(Traffic)
    assert traffic.meter("s", ".", "", "log") is traffic.meter("s", ".", "", "log")
    assert traffic.meter("s", ".", "", "log") is not traffic.meter("s", ".", "v", "log")


def test_a_scrape_adds_up_and_does_not_count_twice() -> None:
    registry = Registry()
    meter = registry.shared(Traffic).meter("s", ".", "", "log")
    for name, qtype, do in (("a.", "A", False), ("b.", "A", True), ("c.", "TYPE65280", False)):
        query = make_request(name, qtype, do=do).query
        meter.count(query, True, False, 0, True, 60, 0.001)
    meter.count(make_request("d.").query, False, True, 2, False, 0, 9.0)
    for _ in range(2):
        assert cells(registry, "requests_total") == {
            ("s", ".", "", "udp", "1", "A"): 2,
            ("s", ".", "", "udp", "1", "other"): 1,
            ("s", ".", "", "tcp", "2", "A"): 1,
        }
        assert cells(registry, "responses_total") == {
            ("s", ".", "", "NOERROR", "log"): 3,
            ("s", ".", "", "SERVFAIL", ""): 1,
        }
        assert cells(registry, "do_requests_total") == {("s", ".", ""): 1}
        assert cells(registry, "request_duration_seconds") == {("s", ".", ""): 4}
        assert cells(registry, "response_size_bytes") == {("s", ".", "", "udp"): 3, ("s", ".", "", "tcp"): 1}


def test_kinds_that_a_client_makes_up_do_not_pile_up() -> None:
    registry = Registry()
    meter = registry.shared(Traffic).meter("s", ".", "", "log")
    query = make_request("a.").query
    for size in range(10_000):
        meter.count(query, True, False, 0, True, size, 0.001)
    assert len(meter.take()) <= 4096
    assert cells(registry, "request_duration_seconds") == {("s", ".", ""): 10_000}
