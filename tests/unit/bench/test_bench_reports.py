"""The figures as text, Markdown and JSON; growth and stage tables; the judgement of the short run."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

import check
import growth
import pytest
from figures import BARE, FLOOR, HALF, OURS, Figures, Latency, Table
from machine import Machine, cpu_model
from reports import as_json, as_markdown, as_text
from servers import corefile, peer_names
from stages import Way, lowest

from support.tree import ROOT

MACHINE = Machine("A Processor", 2, "Linux 6", "CPython 3.11", 0.5)
TABLE: Table = {
    "mixed": {
        name: [Figures(cpu, 1e6 / cpu, 0, {HALF: Latency(50, 100, 500)})] * 3
        for name, cpu in ((FLOOR, 2.0), (BARE, 4.0), (OURS, 3.0))
    }
}
STARTS = {10: [0.5, 0.9, 0.6]}


def stage_module() -> ModuleType:
    """bench/profile.py, whose name is the standard library's too."""
    spec = importlib.util.spec_from_file_location("bench_profile", ROOT / "bench/profile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_text_has_machine_ratios_and_targets() -> None:
    lines = as_text(MACHINE, TABLE, STARTS).splitlines()
    assert lines[0] == "A Processor, 2 cores, Linux 6, CPython 3.11, load 0.5 at the start"
    ours = next(line.split() for line in lines if line.startswith("mixed") and OURS in line)
    assert ours == ["mixed", OURS, "3.00", "1.50", "0.75", "333,333", "50", "100", "500", "0"]
    judged = next(line.split() for line in lines if line.startswith("mixed: waypost / floor"))
    assert " ".join(judged) == "mixed: waypost / floor 1.50 x 1.50 to 1.50 1.8 met"


def test_latency_that_was_not_measured_is_a_dash() -> None:
    bare: Table = {"mixed": {OURS: [Figures(3.0, 10.0, 0, {})]}}
    row = next(line.split() for line in as_text(MACHINE, bare, {}).splitlines() if line.startswith("mixed"))
    assert row == ["mixed", OURS, "3.00", "-", "-", "10", "-", "-", "-", "0"]


def test_markdown_tables_are_whole() -> None:
    rows = [line for line in as_markdown(MACHINE, TABLE, STARTS).splitlines() if line.startswith("|")]
    first, second = rows[: 2 + 3], rows[2 + 3 :]
    assert {row.count("|") for row in first} == {11}
    assert {row.count("|") for row in second} == {6}
    assert "| start to first answer, 10 Services | 0.60 s | 0.50 to 0.90 | 0.7 | met |" in second


def test_json_has_every_round_and_the_machine() -> None:
    found = json.loads(as_json(MACHINE, TABLE, STARTS))
    assert found["machine"]["cpu"] == "A Processor"
    assert [one["latencies"][str(HALF)]["p999"] for one in found["loads"]["mixed"][OURS]] == [500] * 3
    assert {one["met"] for one in found["targets"]} == {True}


def test_processor_is_named_or_else_its_architecture() -> None:
    assert cpu_model("processor : 0\nmodel name\t: Some CPU @ 2 GHz\nflags: x\n") == "Some CPU @ 2 GHz"
    assert cpu_model("CPU implementer : 0x41\n")


@pytest.mark.parametrize(("ratio", "failed"), [(3.0, False), (3.01, True)])
def test_short_run_fails_above_one_and_a_half_times_the_record(ratio: float, failed: bool) -> None:
    lines, found = check.judged({"mixed": ratio}, {"mixed": 2.0})
    assert found is failed
    assert "recorded 2.00, at most 3.00" in lines[0]


def test_short_run_shows_what_has_no_record() -> None:
    assert check.judged({"new": 99.0}, {"mixed": 2.0})[1] is False


def test_every_load_of_the_short_run_is_recorded() -> None:
    recorded = json.loads(check.RECORDED.read_text(encoding="utf-8"))
    assert recorded["ratios"].keys() == set(check.PLAN.loads)


def test_an_endpoint_costs_the_slope() -> None:
    sizes = {0: 10.0, 1024 * 1024: 210.0, 2 * 1024 * 1024: 410.0}
    assert growth.bytes_each(sizes) == pytest.approx(200)
    assert growth.bytes_each({5: 1.0}) == 0


def test_peers_of_one_name_are_numbered() -> None:
    assert peer_names(["/a/coredns -conf {conf}", "unbound", "coredns {conf}"]) == ["coredns", "unbound", "coredns #2"]


def test_corefiles_differ_by_what_is_measured() -> None:
    kept, passed, logged = corefile(1, 2, 3), corefile(1, 2, 3, cache=False), corefile(1, 2, 3, log=True)
    assert "cache 3600" in kept
    assert "cache" not in passed
    assert ["log" in text.split() for text in (kept, logged)] == [False, True]


def test_stages_are_in_the_order_of_the_way() -> None:
    table = stage_module().stage_table
    found = {
        "mixed": Way({"receive": 1.0}, {"cache": 5.0, "kubernetes": 3.0}, {"send": 1.0}, 0.5, (8.0, 2.5)),
        "forwarded": Way({"receive": 1.0}, {"forward": 9.0}, {"send": 1.0}, None),
    }
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(found)[2:]]
    assert [row[0] for row in rows[:3]] == ["receive", "cache", "forward"]
    assert rows[-4:] == [
        ["**new: sum**", "7.00", "11.00"],
        ["**new: whole way**", "8.00", ""],
        ["memo, asked again", "0.50", ""],
        ["**again: whole way**", "2.50", ""],
    ]


def test_the_best_pass_of_each_part_counts() -> None:
    one, other = (
        Way({"receive": 1.0}, {"cache": 5.0, "kubernetes": 4.0}, {"send": 1.0}, None, (9.0, None)),
        Way({"receive": 2.0}, {"cache": 9.0, "kubernetes": 2.0}, {"send": 0.5}, 0.7, (8.0, 3.0)),
    )
    best = lowest([one, other])
    assert best == Way({"receive": 1.0}, {"cache": 5.0, "kubernetes": 2.0}, {"send": 0.5}, 0.7, (8.0, 3.0))
    assert best.stages() == {"receive": 1.0, "cache": 3.0, "kubernetes": 2.0, "send": 0.5}
