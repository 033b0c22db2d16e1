"""The sketches of query-log reports against exact counts: their error stays within the bound that they state."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.querylog.sketches.distinct import Distinct, fingerprint
from waypost.querylog.sketches.generations import Generations
from waypost.querylog.sketches.histogram import ERROR, LOW, Histogram
from waypost.querylog.sketches.largest import Largest
from waypost.querylog.sketches.spacesaving import SpaceSaving
from waypost.querylog.sketches.timeline import Timeline

keys = st.text("abcdefghij", min_size=1, max_size=2)
weighted = st.lists(st.tuples(keys, st.integers(1, 50)), max_size=300)


@given(weighted, st.integers(1, 12))
def test_space_saving_stays_within_its_bounds(stream: list[tuple[str, int]], capacity: int) -> None:
    sketch: SpaceSaving[None] = SpaceSaving(capacity, lambda key: None)
    exact: Counter[str] = Counter()
    for key, weight in stream:
        sketch.hit(key, weight)
        exact[key] += weight
    total = sum(exact.values())
    slots = {slot.key: slot for slot in sketch.top()}
    assert len(slots) == min(capacity, len(exact))
    for key, slot in slots.items():
        assert slot.least <= exact[key] <= slot.count
        assert slot.error <= total / capacity
    assert {key for key, count in exact.items() if count > total / capacity} <= slots.keys()
    if len(exact) <= capacity:
        assert {key: (slot.count, slot.error) for key, slot in slots.items()} == {k: (c, 0) for k, c in exact.items()}


@given(weighted, st.integers(1, 12))
def test_a_slots_value_is_as_old_as_the_slot(stream: list[tuple[str, int]], capacity: int) -> None:
    sketch: SpaceSaving[list[int]] = SpaceSaving(capacity, lambda key: [])
    for key, weight in stream:
        sketch.hit(key, weight).value.append(weight)
    assert all(sum(slot.value) == slot.least for slot in sketch.top())


@pytest.mark.parametrize("precision", [8, 12])
@pytest.mark.parametrize("count", [0, 1, 10, 300, 700, 3_000, 20_000])
def test_distinct_is_within_four_standard_errors(precision: int, count: int) -> None:
    sketch = Distinct(precision)
    for number in range(count):
        for _ in range(2):
            sketch.add(fingerprint(f"name-{number}.example.org."))
    error = 1.04 / math.sqrt(1 << precision)
    assert abs(sketch.estimate() - count) <= max(4 * error * count, 1)


@given(st.lists(st.text(max_size=4), max_size=60), st.randoms(use_true_random=False))
def test_distinct_knows_neither_order_nor_repetition(texts: list[str], rng: object) -> None:
    once, often = Distinct(8), Distinct(8)
    for text in set(texts):
        once.add(fingerprint(text))
    for text in reversed(texts):
        often.add(fingerprint(text))
    assert once.estimate() == often.estimate()


@given(st.lists(st.floats(LOW, 900.0), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_quantiles_are_within_their_error(values: list[float], share: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    assert histogram.quantile(share) == pytest.approx(exact, rel=ERROR + 1e-9)
    assert (histogram.count, histogram.largest) == (len(values), max(values))
    assert sum(octave.number for octave in histogram.octaves()) == len(values)


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_octaves_hold_what_lies_in_them(values: list[float]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    octaves = list(histogram.octaves())
    assert sum(octave.number for octave in octaves) == len(values)
    for octave in octaves[1:-1]:
        inside = sum(octave.low * (1 + 1e-9) < value < octave.high * (1 - 1e-9) for value in values)
        around = sum(octave.low * (1 - 1e-9) <= value <= octave.high * (1 + 1e-9) for value in values)
        assert inside <= octave.number <= around


@given(st.lists(st.tuples(keys, st.integers(0, 1000)), max_size=300), st.integers(1, 8))
def test_largest_is_exact(stream: list[tuple[str, int]], limit: int) -> None:
    sketch = Largest(limit)
    exact: dict[str, float] = {}
    for key, value in stream:
        sketch.add(key, value)
        exact[key] = max(exact.get(key, 0), value)
    found = sketch.top()
    assert [value for _, value in found] == sorted(exact.values(), reverse=True)[:limit]
    assert all(exact[key] == value for key, value in found)


@given(
    st.lists(st.tuples(st.floats(0, 4e9), st.integers(0, 2)), max_size=100),
    st.integers(2, 40),
)
def test_timeline_loses_nothing(events: list[tuple[float, int]], limit: int) -> None:
    timeline = Timeline(3, limit)
    for time, series in events:
        timeline.add(time, series)
    intervals = timeline.intervals()
    assert len(intervals) <= limit
    for interval in intervals:
        inside = Counter(series for time, series in events if 0 <= time - interval.start < timeline.width)
        assert interval.counts == (inside[0], inside[1], inside[2])
    assert sum(sum(interval.counts) for interval in intervals) == timeline.count == len(events)
    if events:
        assert (timeline.first, timeline.last) == (min(events)[0], max(events)[0])


@given(st.lists(st.tuples(st.integers(0, 30), st.integers()), max_size=200), st.integers(2, 20))
def test_generations_keep_the_last_ones(puts: list[tuple[int, int]], capacity: int) -> None:
    kept: Generations[int, int] = Generations(capacity)
    exact: dict[int, int] = {}
    for key, value in puts:
        kept.put(key, value)
        exact.pop(key, None)
        exact[key] = value
        assert len(kept) <= capacity
    for key in list(exact)[-(capacity // 2) :]:
        assert kept.get(key) == exact[key]
    for key, value in exact.items():
        assert kept.get(key) in (None, value)
