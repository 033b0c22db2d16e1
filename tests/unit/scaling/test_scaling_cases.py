"""Replicas and refusals, judged by recorded runs of cluster-proportional-autoscaler."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from support.tree import ROOT
from waypost.scaling.formula import ClusterSize, wanted
from waypost.scaling.nodes import NodeFacts, cluster_size, parse_quantity
from waypost.scaling.params import ParamsError, read_data

CASES = json.loads((ROOT / "tests/data/scaling/autoscaler.json").read_text(encoding="utf-8"))
SAYS = {
    "exactly one key": r"exactly one key",
    "negative coresPerReplica": r"linear\.coresPerReplica: expected 0 or more",
    "negative entry": r"negative entry",
    "negative min": r"linear\.min: expected 0 or more",
    "negative nodesPerReplica": r"linear\.nodesPerReplica: expected 0 or more",
    "not JSON": r"not JSON",
    "unknown mode": r"unknown mode",
    "wrong type": r"wrong type",
}


def params(*, valid: bool) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if ("expect" in case) == valid]


def data_of(case: dict[str, Any]) -> dict[str, str]:
    return case["data"] if "data" in case else {case["mode"]: case["params_text"]}


@pytest.mark.parametrize("case", params(valid=True))
def test_replicas(case: dict[str, Any]) -> None:
    size = ClusterSize(case["nodes"], case["schedulable_nodes"], case["cores"], case["schedulable_cores"])
    assert wanted(read_data(data_of(case)), size).replicas == case["expect"]


@pytest.mark.parametrize("case", [each for each in params(valid=True) if each.values[0]["params"] is not None])
def test_replicas_of_objects(case: dict[str, Any]) -> None:
    """The value of the key may be the object instead of its text."""
    size = ClusterSize(case["nodes"], case["schedulable_nodes"], case["cores"], case["schedulable_cores"])
    assert wanted(read_data({case["mode"]: case["params"]}), size).replicas == case["expect"]


@pytest.mark.parametrize("case", params(valid=False))
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ParamsError) as caught:
        read_data(data_of(case))
    assert re.search(SAYS[case["expect_error"]], str(caught.value)), str(caught.value)


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in CASES if "node_list" in each])
def test_counting(case: dict[str, Any]) -> None:
    facts = [
        NodeFacts(parse_quantity(node["cpu"]), not node["unschedulable"] and node["ready"] == "True")
        for node in case["node_list"]
    ]
    expected = (case["nodes"], case["schedulable_nodes"], case["cores"], case["schedulable_cores"])
    assert cluster_size(facts) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"min": 2}', "linear: expected coresPerReplica or nodesPerReplica above 0, got neither"),
        ('{"nodesPerReplica": 1, "min": 3, "max": 2}', "linear.max: expected at least min, 3, got 2"),
        ('{"nodesPerReplica": 1, "max": -1}', "linear.max: expected 0 or more, got -1"),
    ],
)
def test_what_a_refusal_says(text: str, says: str) -> None:
    with pytest.raises(ParamsError, match=f"^{re.escape(says)}$"):
        read_data({"linear": text})
