"""No object, however odd, stops a check: it is refused with its field, or judged."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.dnscluster import Json, client, cluster, facts, node_files, objects, policy
from waypost.diagnosis.checks import CHECKS, diagnose
from waypost.diagnosis.conntrack import parse_statistics
from waypost.diagnosis.facts import NodeText
from waypost.manifests.problem import FieldError

PEERS = [
    {"ipBlock": {"cidr": "10.244.0.0/16", "except": ["10.244.9.0/24"]}},
    {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["b"]}]}},
]
PORTS = [{"protocol": "UDP", "port": 1, "endPort": 99}, {"protocol": "TCP", "port": "dns-tcp"}]
EXTRA = [
    policy("p", policyTypes=["Egress", "Ingress"], egress=[{"to": PEERS, "ports": PORTS}], ingress=[{}]),
    policy("q", "kube-system", ingress=[{"from": PEERS, "ports": PORTS}]),
    client("agent", hostNetwork=True, dnsConfig={"searches": ["a"], "options": [{"name": "ndots", "value": "2"}]}),
]
HEALTHY = [*objects().values(), *EXTRA]
VALUES = st.one_of(
    st.text(max_size=8), st.integers(-2, 70_000), st.booleans(), st.none(), st.just([]), st.just({}),
    st.sampled_from(["10.96.0.10", "::1", "Egress", "ClusterFirst", "None", "100%", "Failed", "x" * 300]),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything inside an object."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


PLACES = [(number, path) for number, each in enumerate(HEALTHY) for path in places(each) if path[0] != "kind"]


def put(items: list[Json], number: int, path: tuple[Any, ...], value: Any) -> None:
    node: Any = items[number]
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3), VALUES)
def test_changed_fields(changes: list[tuple[tuple[int, tuple[Any, ...]], Any]], name: Any) -> None:
    items = copy.deepcopy(HEALTHY)
    for (number, path), value in changes:
        with contextlib.suppress(KeyError, IndexError, TypeError):  # an earlier change took that place away
            put(items, number, path, value)
    held = []
    for item in items:
        try:
            cluster([item])
        except (FieldError, AssertionError):
            continue
        held.append(item)
    found = list(diagnose(facts(cluster=cluster(held, clients=("shop", name if isinstance(name, str) else "")))))
    assert {each.code for each in found} == {check.code for check in CHECKS}
    assert all(each.remedy or each.verdict in ("ok", "unknown") for each in found)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=20))
def test_files_of_any_bytes(content: bytes, number: bytes) -> None:
    files = {
        "conntrack": NodeText("/c", b"insert_failed drop entries\n" + content),
        "conntrack_count": NodeText("/n", number),
    }
    given_files = node_files(content.decode("utf-8", "surrogateescape"), **files)
    list(diagnose(facts(node=given_files)))


@given(st.text(max_size=100))
def test_statistics_of_any_text(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert "insert_failed" in parse_statistics(text)
