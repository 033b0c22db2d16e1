"""Medians, ratios within a round, percentiles; targets and how they are judged."""

from __future__ import annotations

import pytest
from figures import FLOOR, HALF, OURS, Figures, Latency, Table, median, percentiles, ratios
from targets import LOGGING, RATIOS, verdicts


def figures(cpu: float, *, p999: float = 500.0, rate: float = 1000.0) -> Figures:
    return Figures(cpu, rate, 0, {HALF: Latency(50, 100, p999)})


def table(**servers: list[float]) -> Table:
    return {"mixed": {name: [figures(cpu) for cpu in rounds] for name, rounds in servers.items()}}


def test_median_is_of_each_figure_by_itself() -> None:
    rounds = [figures(3, p999=10, rate=7), figures(1, p999=30, rate=9), figures(2, p999=20, rate=8)]
    assert median(rounds) == Figures(2, 8, 0, {HALF: Latency(50, 100, 20)})


def test_ratios_pair_what_was_measured_in_the_same_round() -> None:
    # A machine that is slower in the second round is so for both: the ratio stays.
    assert ratios(table(floor=[2, 20], waypost=[4, 40]), "mixed", OURS, FLOOR) == [2, 2]


@pytest.mark.parametrize("load", ["mixed", "unknown"])
def test_no_ratio_without_a_floor(load: str) -> None:
    assert ratios(table(waypost=[4]), load, OURS, FLOOR) == []


def test_a_floor_below_the_clock_gives_no_ratio() -> None:
    assert ratios(table(floor=[0, 2], waypost=[4, 4]), "mixed", OURS, FLOOR) == [2]


def test_percentiles_of_a_thousand() -> None:
    seconds = [n / 1e6 for n in range(1000)]
    assert percentiles(seconds) == pytest.approx(Latency(500, 990, 999))


def test_percentiles_of_one() -> None:
    assert percentiles([0.001]) == pytest.approx(Latency(1000, 1000, 1000))


def test_a_target_is_met_by_the_median() -> None:
    limit = next(ratio.limit for ratio in RATIOS if ratio[:3] == ("mixed", OURS, FLOOR))
    for factor, met in ((1.0, True), (1.01, False)):
        found = verdicts(table(floor=[1, 1, 1], waypost=[0.1, limit * factor, 99]), {})
        verdict = next(one for one in found if one.what == "mixed: waypost / floor")
        assert (verdict.met, verdict.low, verdict.high) == (met, 0.1, 99)


def test_every_cached_target_stands_for_itself() -> None:
    found = verdicts({"cached": {FLOOR: [figures(1)], OURS: [figures(2.2)]}}, {})
    assert [(one.limit, one.met) for one in found if one.unit == "x"] == [(2.0, False), (2.5, True)]


def test_logging_is_compared_with_not_logging() -> None:
    found = verdicts(table(**{OURS: [5.0], LOGGING: [10.0]}), {})
    assert [(one.value, one.met) for one in found if one.unit == "x"] == [(2.0, False)]


def test_latency_and_start_are_judged_in_their_own_units() -> None:
    slow = {"mixed": {OURS: [figures(1, p999=2500)]}}
    found = {one.unit: one for one in verdicts(slow, {10: [0.6, 0.8, 0.65]})}
    assert (found["ms"].value, found["ms"].met) == (2.5, False)
    assert (found["s"].value, found["s"].met) == (0.65, True)
