"""Exposition, read back by prometheus_client's own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from waypost.metrics.expose import CONTENT_TYPE, Exposition
from waypost.metrics.registry import Registry


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_content_type() -> None:
    assert CONTENT_TYPE == "text/plain; version=0.0.4; charset=utf-8"


def test_counter_prints_whole_numbers_and_labels_in_alphabetical_order() -> None:
    registry = Registry()
    registry.counter("coredns_x_total", "Text.", ("server", "family")).labels("dns://:53", "1").inc(2)
    text = Exposition(registry).text().decode()
    assert '\ncoredns_x_total{family="1",server="dns://:53"} 2\n' in f"\n{text}"
    assert "# TYPE coredns_x_total counter\n" in text


def test_help_keeps_its_end_and_fractions_stay() -> None:
    registry = Registry()
    registry.gauge("a", "Since 1.0").labels().set(0.5)
    registry.gauge("b", "Large").labels().set(10.0)
    text = Exposition(registry).text().decode()
    assert "# HELP a Since 1.0\n" in text
    assert "\na 0.5\n" in text
    assert "\nb 10\n" in text


def test_label_values_are_escaped_and_never_cut() -> None:
    registry = Registry()
    value = 'a"\\\n1.0'
    registry.gauge("a", "A", ("l",)).labels(value).set(3)
    text = Exposition(registry).text()
    assert samples(text)[("a", (("l", value),))] == 3


def test_histogram_is_cumulated() -> None:
    registry = Registry()
    histogram = registry.histogram("h", "H", (0, 0.5, 100), ("l",)).labels("x")
    for value in (0, 0.25, 0.5, 7, 1000):
        histogram.observe(value)
    found = samples(Exposition(registry).text())
    buckets = {dict(key[1])["le"]: value for key, value in found.items() if key[0] == "h_bucket"}
    assert buckets == {"0": 1, "0.5": 3, "100": 4, "+Inf": 5}
    assert found[("h_count", (("l", "x"),))] == 5
    assert found[("h_sum", (("l", "x"),))] == 1007.75


def test_gauge_is_read_at_scrape_time() -> None:
    registry = Registry()
    registry.gauge("g", "G").labels().read = lambda: 42
    assert samples(Exposition(registry).text())[("g", ())] == 42


def test_families_without_cells_are_left_out() -> None:
    registry = Registry()
    registry.counter("coredns_y_total", "Y", ("l",))
    assert b"coredns_y" not in Exposition(registry).text()


def test_process_and_python_metrics() -> None:
    plain = Exposition(Registry()).text()
    assert b"process_open_fds " in plain
    assert b"python_info{" in plain
    assert b"python_gc" not in plain
    assert b"python_gc_collections_total{" in Exposition(Registry(), runtime=True).text()
