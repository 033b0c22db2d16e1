"""Flags' values, counting nodes, and the hold."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.scaleapi import api_node
from support.validating import faults
from waypost.autoscale.api import Api, LeaseSpec
from waypost.autoscale.events import event
from waypost.autoscale.hold import Hold
from waypost.autoscale.leader import claim
from waypost.autoscale.nodes import Node, NodeCount
from waypost.autoscale.settings import SettingsError, Target, parse_default_params, parse_targets


def test_targets() -> None:
    assert parse_targets("Deployment/CoreDNS, replicaset/a,replicationcontroller/b") == (
        Target("deployment", "coredns"),
        Target("replicaset", "a"),
        Target("replicationcontroller", "b"),
    )
    assert Target("deployment", "a").scale_path("n") == "/apis/apps/v1/namespaces/n/deployments/a/scale"
    assert Target("replicationcontroller", "b").scale_path("n") == "/api/v1/namespaces/n/replicationcontrollers/b/scale"
    assert [Target(kind, "a").api_version for kind in ("deployment", "replicationcontroller")] == ["apps/v1", "v1"]


@pytest.mark.parametrize("text", ["", "coredns", "deployment/", "statefulset/a", "deployment/a/b", "deployment/a,"])
def test_no_targets(text: str) -> None:
    with pytest.raises(SettingsError, match="--target: expected deployment/NAME"):
        parse_targets(text)


def test_default_params() -> None:
    text = '{"linear": {"nodesPerReplica": 16, "coresPerReplica": 256.5}}'
    assert parse_default_params(text) == {"linear": '{"coresPerReplica":256.5,"nodesPerReplica":16}'}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"linear": "{}"}', "[" * 100_000])
def test_no_default_params(text: str) -> None:
    with pytest.raises(SettingsError, match="--default-params"):
        parse_default_params(text)


def node(name: str, cpu: object = "4", **kind: object) -> Node:
    return msgspec.convert(api_node(name, cpu, **kind), Node)  # type: ignore[arg-type]


def test_nodes_come_and_go() -> None:
    count = NodeCount()
    count.begin_list()
    for each in (node("a"), node("b", "3920m", cordoned=True), node("c", 2, ready="Unknown")):
        count.listed(each)
    count.end_list()
    assert count.size == (3, 1, 10, 4)
    changes = count.changes
    count.changed(node("a"))
    assert count.changes == changes
    count.changed(node("b", "3920m"))
    count.removed("", "c")
    count.removed("", "c")
    assert (count.size, count.changes) == ((2, 2, 8, 8), changes + 2)
    count.begin_list()
    count.listed(node("b"))
    count.abort_list()
    assert count.size.nodes == 2
    count.begin_list()
    count.listed(node("b"))
    count.end_list()
    assert count.size == (1, 1, 4, 4)


def test_the_schemas_take_what_is_written() -> None:
    lease = Api(None, "n")._lease({"name": "a"}, claim(LeaseSpec(), "me", "2026-01-01T00:00:00.000000Z"))  # type: ignore[arg-type]
    objects = [event(Target(kind, "a"), "n", "Scaled", "text", 1e9) for kind in ("deployment", "replicationcontroller")]
    assert faults([*objects, msgspec.to_builtins(lease)]) == []


def test_a_node_without_anything() -> None:
    assert msgspec.convert({"metadata": {"name": "a"}}, Node).facts() == (0, False)


def test_without_hold_nothing_is_held() -> None:
    hold = Hold(0.0)
    assert [hold.allowed(0.0, 7, 2), hold.allowed(0.0, 2, 9), hold.allowed(0.0, 9, 1)] == [2, 9, 1]


def test_fewer_only_after_a_time() -> None:
    hold = Hold(60.0)
    assert hold.allowed(0.0, 7, 3) == 7, "what was there before is not known: it may have been needed"
    assert hold.allowed(59.0, 7, 3) == 7
    assert hold.allowed(60.0, 7, 3) == 3
    assert hold.allowed(61.0, 3, 9) == 9, "more at once"
    assert hold.allowed(100.0, 9, 5) == 9
    assert hold.allowed(121.0, 9, 2) == 5, "down to what was wanted in between"


@given(
    st.lists(st.tuples(st.floats(0, 50), st.integers(0, 20)), min_size=1, max_size=60),
    st.integers(0, 20),
    st.floats(0, 100),
)
def test_hold_is_the_largest_of_the_window(steps: list[tuple[float, int]], start: int, seconds: float) -> None:
    """Judged by a list of everything that was ever wanted."""
    hold, now, current = Hold(seconds), 0.0, start
    history = [(steps[0][0], start)]
    for gap, wanted in steps:
        now += gap
        history.append((now, wanted))
        largest = max([want for when, want in history if when > now - seconds] + [wanted])
        current_before, current = current, hold.allowed(now, current, wanted)
        assert current == max(wanted, min(current_before, largest))
