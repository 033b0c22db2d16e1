"""Several processes' metrics as one's."""

from __future__ import annotations

import msgspec

from waypost.metrics.registry import Counter, Family, Gauge, Histogram, Registry
from waypost.metrics.sums import Others, begin, count, decode, total


def registry(queries: float, entries: float, *seconds: float) -> Registry:
    made = Registry()
    made.counter("queries_total", "Queries.", ("zone",)).labels("a").inc(queries)
    made.gauge("entries", "Entries.").labels().set(entries)
    made.gauge("coredns_build_info", "Constant.", ("version",)).labels("1").set(1)
    histogram = made.histogram("seconds", "Time.", (1, 2)).labels()
    for value in seconds:
        histogram.observe(value)
    return made


def value(families: dict[str, Family], name: str, *labels: str) -> float:
    cell = families[name].cells[labels]
    assert isinstance(cell, Counter | Gauge)
    return cell.value


class TestTotal:
    def test_counters_and_histograms_are_summed(self) -> None:
        families = total([count(registry(3, 5, 0.5, 9)), count(registry(4, 6, 1.5))])
        assert value(families, "queries_total", "a") == 7
        histogram = families["seconds"].cells[()]
        assert isinstance(histogram, Histogram)
        assert (histogram.counts, histogram.total) == ([1, 1, 1], 11)

    def test_gauges_are_summed_unless_they_say_how_things_are(self) -> None:
        families = total([count(registry(0, 5)), count(registry(0, 6))])
        assert value(families, "entries") == 11
        assert value(families, "coredns_build_info", "1") == 1

    def test_cells_that_only_some_have(self) -> None:
        other = Registry()
        other.counter("queries_total", "Queries.", ("zone",)).labels("b").inc(2)
        families = total([count(registry(3, 0)), count(other)])
        assert (value(families, "queries_total", "a"), value(families, "queries_total", "b")) == (3, 2)

    def test_through_bytes(self) -> None:
        told = count(registry(3, 5, 0.5))
        assert decode(msgspec.msgpack.encode(told)) == told


class TestOthers:
    def test_what_the_dead_counted_stays(self) -> None:
        others = Others()
        others.take(1, count(registry(3, 5, 0.5)))
        others.take(2, count(registry(4, 6)))
        others.lose(1)
        others.take(3, count(registry(1, 7, 0.5)))
        others.lose(3)
        others.lose(3)
        others.lose(99)
        families = total(others.counts())
        assert value(families, "queries_total", "a") == 8
        assert value(families, "entries") == 6
        histogram = families["seconds"].cells[()]
        assert isinstance(histogram, Histogram)
        assert sum(histogram.counts) == 2

    def test_the_latest_count_stands(self) -> None:
        others = Others()
        others.take(1, count(registry(3, 5)))
        others.take(1, count(registry(4, 5)))
        assert value(total(others.counts()), "queries_total", "a") == 4


def test_a_forked_process_begins_at_nothing_with_the_same_cells() -> None:
    made = registry(3, 5, 0.5)
    kept = made.counter("queries_total", "Queries.", ("zone",)).labels("a")
    begin(made)
    assert (kept.value, value(made.families, "entries")) == (0, 5)
    kept.inc()
    assert value(made.families, "queries_total", "a") == 1
    histogram = made.families["seconds"].cells[()]
    assert isinstance(histogram, Histogram)
    assert (sum(histogram.counts), histogram.total) == (0, 0)
