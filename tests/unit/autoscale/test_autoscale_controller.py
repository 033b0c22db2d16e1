"""Polls against a cluster in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.autoscaling import COREDNS, Clock, FakeApi, memory_log
from waypost.autoscale.controller import Controller
from waypost.autoscale.metrics import Metrics
from waypost.autoscale.settings import Settings, Target
from waypost.metrics.registry import Registry
from waypost.scaling.formula import ClusterSize

NAME = "dns-autoscaler"
OTHER = Target("deployment", "other")


class Rig:
    """A controller with everything around it."""

    def __init__(self, api: FakeApi, **settings: Any) -> None:
        self.api = api
        self.clock = Clock()
        self.size = ClusterSize(100, 90, 800, 720)
        self.registry = Registry()
        self.log, self.lines = memory_log()
        targets = settings.pop("targets", (COREDNS,))
        self.controller = Controller(
            Settings("kube-system", NAME, targets, **settings),
            api,  # type: ignore[arg-type]
            lambda: self.size,
            self.log,
            Metrics(self.registry),
            clock=self.clock,
            wall=lambda: 1_700_000_000.5,
        )

    async def poll(self, **params: Any) -> str:
        """Poll, with these linear parameters if any are given; the problem."""
        if params:
            self.api.put(NAME, {"linear": json.dumps(params)})
        return (await self.controller.poll()).problem


async def test_scales_up_and_down_and_says_so() -> None:
    rig = Rig(FakeApi(coredns=2))
    assert await rig.poll(nodesPerReplica=16) == ""
    assert rig.api.scales == {COREDNS: 6}
    rig.size = ClusterSize(10, 10, 80, 80)
    assert await rig.poll() == ""
    assert rig.api.scales == {COREDNS: 1}
    assert [each["reason"] for each in rig.api.events] == ["Scaled", "Scaled"]
    event = rig.api.events[0]
    assert event["message"] == "Scaled from 2 to 6 replicas: cores ask for 1, nodes for 6"
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "kube-system",
        "name": "coredns",
    }
    assert event["firstTimestamp"] == "2023-11-14T22:13:20Z"


async def test_what_fits_is_left_alone() -> None:
    rig = Rig(FakeApi(coredns=6))
    await rig.poll(nodesPerReplica=16)
    await rig.poll()
    assert "scale" not in rig.api.calls
    assert rig.api.events == []


async def test_parameters_are_read_live() -> None:
    rig = Rig(FakeApi(coredns=2))
    await rig.poll(nodesPerReplica=16)
    await rig.poll(nodesPerReplica=9)
    assert rig.api.scales[COREDNS] == 10
    rig.api.put(NAME, {"ladder": '{"nodesToReplicas": [[1, 3]]}'})
    await rig.poll()
    assert rig.api.scales[COREDNS] == 3


async def test_bad_parameters_leave_the_target_as_it_is() -> None:
    rig = Rig(FakeApi(coredns=2))
    await rig.poll(nodesPerReplica=16)
    problem = await rig.poll(nodesPerReplica=-1)
    assert problem == f"ConfigMap {NAME}: linear.nodesPerReplica: expected 0 or more, got -1"
    rig.size = ClusterSize(200, 200, 0, 0)
    assert await rig.poll() == problem
    assert rig.controller.last.failures == 2
    assert rig.api.scales[COREDNS] == 6
    assert [each["reason"] for each in rig.api.events] == ["Scaled", "ScalingFailed"], "told once, not at each poll"
    assert await rig.poll(nodesPerReplica=16) == ""
    assert (rig.api.scales[COREDNS], rig.controller.last.failures) == (13, 0)


async def test_no_config_map() -> None:
    rig = Rig(FakeApi(coredns=2))
    assert await rig.poll() == f"{NAME} not found"
    rig = Rig(FakeApi(coredns=2), default_params={"linear": '{"nodesPerReplica":16}'})
    assert await rig.poll() == ""
    assert rig.api.maps == {NAME: {"linear": '{"nodesPerReplica":16}'}}
    assert rig.api.scales[COREDNS] == 6


async def test_defaults_are_no_answer_to_a_refusal() -> None:
    """Rights that are missing, or a server that is away, say nothing about the ConfigMap."""
    for api in (FakeApi(coredns=2), FakeApi(coredns=2)):
        rig = Rig(api, default_params={"linear": '{"nodesPerReplica":16}'})
        api.denied.add("config_map")
        assert await rig.poll() == "config_map is forbidden"
        api.down = True
        assert await rig.poll() == "i/o timeout"
        assert "create_config_map" not in api.calls


async def test_one_target_that_fails_does_not_hold_up_the_others() -> None:
    rig = Rig(FakeApi(other=1), targets=(COREDNS, OTHER))
    problem = await rig.poll(nodesPerReplica=16)
    assert problem.startswith("deployment/coredns: ")
    assert rig.api.scales == {OTHER: 6}


async def test_events_are_not_essential() -> None:
    rig = Rig(FakeApi(coredns=2))
    rig.api.denied.add("create_event")
    assert await rig.poll(nodesPerReplica=16) == ""
    assert rig.api.scales[COREDNS] == 6
    assert "no event could be made" in rig.lines.getvalue()


async def test_dry_run_changes_nothing() -> None:
    rig = Rig(FakeApi(coredns=2), dry_run=True, default_params={"linear": '{"nodesPerReplica":16}'})
    assert await rig.poll() == ""
    assert set(rig.api.calls) == {"config_map", "replicas"}
    text = "deployment/coredns: would be scaled from 2 to 6 replicas: cores ask for 1, nodes for 6"
    assert text in rig.lines.getvalue()


async def test_cordoning_most_nodes_takes_nothing_away_at_once() -> None:
    rig = Rig(FakeApi(coredns=7), hold=300.0)
    rig.size = ClusterSize(100, 100, 400, 400)
    await rig.poll(nodesPerReplica=16)
    rig.size = ClusterSize(100, 20, 400, 80)
    for _ in range(29):
        rig.clock.now += 10
        await rig.poll()
        assert rig.api.scales[COREDNS] == 7
    rig.clock.now += 20
    await rig.poll()
    assert rig.api.scales[COREDNS] == 2


async def test_metrics() -> None:
    rig = Rig(FakeApi(coredns=2))
    await rig.poll(nodesPerReplica=16)
    await rig.poll(nodesPerReplica=-1)
    values = {
        (name, labels): cell.value  # type: ignore[union-attr]
        for name, family in rig.registry.collect().items()
        for labels, cell in family.cells.items()
    }
    prefix = "waypost_autoscaler"
    assert values[f"{prefix}_nodes", ("all",)] == 100
    assert values[f"{prefix}_nodes", ("schedulable",)] == 90
    assert values[f"{prefix}_cores", ("schedulable",)] == 720
    assert values[f"{prefix}_wanted_replicas", ("nodes",)] == 6
    assert values[f"{prefix}_replicas", ("deployment/coredns",)] == 6
    assert values[f"{prefix}_changes_total", ("deployment/coredns", "up")] == 1
    assert values[f"{prefix}_polls_total", ("done",)] == values[f"{prefix}_polls_total", ("failed",)] == 1


@pytest.mark.parametrize("data", [{}, {"linear": "{}", "ladder": "{}"}, {"linear": "x"}, {"other": "{}"}])
async def test_any_config_map(data: dict[str, str]) -> None:
    rig = Rig(FakeApi(coredns=2))
    rig.api.put(NAME, data)
    assert await rig.poll() != ""
    assert rig.api.scales == {COREDNS: 2}
