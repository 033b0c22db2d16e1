"""The bounded map: its bounds, and that eviction is fair."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.toolkit.cachemap import CacheMap


def make(capacity: int, max_weight: int = 0) -> CacheMap[int, bytes]:
    return CacheMap(capacity, random.Random(7), max_weight=max_weight, weigh=len if max_weight else None)


def test_a_full_map_evicts_one_entry_for_a_new_key_and_none_for_a_known_one() -> None:
    entries = make(2)
    assert entries.put(1, b"a") == []
    assert entries.put(2, b"b") == []
    assert entries.put(2, b"c") == []
    ((victim, value),) = entries.put(3, b"d")
    assert (victim, value) in {(1, b"a"), (2, b"c")}
    assert len(entries) == 2
    assert entries.get(3) == b"d"
    assert entries.get(victim) is None


def test_every_entry_has_the_same_chance_to_be_evicted() -> None:
    rng = random.Random(3)
    victims: Counter[int] = Counter()
    for _ in range(4000):
        entries: CacheMap[int, bytes] = CacheMap(4, rng)
        for key in range(4):
            entries.put(key, b"x")
        victims[entries.put(9, b"x")[0][0]] += 1
    assert set(victims) == {0, 1, 2, 3}
    assert min(victims.values()) > 800


def test_weight_evicts_as_many_as_needed() -> None:
    entries = make(100, max_weight=10)
    for key in range(10):
        entries.put(key, b"x")
    assert len(entries.put(20, b"xxxx")) == 4
    assert entries.weight == 10


def test_a_value_above_the_weight_limit_is_not_kept_and_evicts_nothing_else() -> None:
    entries = make(100, max_weight=10)
    entries.put(1, b"old")
    entries.put(2, b"other")
    assert entries.put(1, b"x" * 11) == []
    assert 1 not in entries
    assert 2 in entries
    assert entries.weight == 5


def test_a_capacity_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        make(0)


@given(st.lists(st.tuples(st.sampled_from("pdc"), st.integers(0, 12), st.binary(max_size=6)), max_size=80))
def test_it_is_a_dict_that_forgets(steps: list[tuple[str, int, bytes]]) -> None:
    entries = make(5, max_weight=15)
    model: dict[int, bytes] = {}
    for step, key, value in steps:
        if step == "p":
            lost = entries.put(key, value)
            model[key] = value
            for victim, was in lost:
                assert model.pop(victim) == was
        elif step == "d":
            assert entries.pop(key) == model.pop(key, None)
        else:
            entries.clear()
            model.clear()
        assert {k: entries.get(k) for k in entries} == model
        assert len(entries) == len(model) <= 5
        assert entries.weight == sum(map(len, model.values())) <= 15
