"""The policies in docs/operate/security.md are valid, and allow and forbid what the page says."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml

from support.tree import ROOT, code_blocks
from support.validating import faults
from waypost.diagnosis.networkpolicy import Direction, Party, Traffic, allowing, selecting
from waypost.diagnosis.objects import NetworkPolicy
from waypost.diagnosis.reading import read_object

OBJECTS: list[dict[str, Any]] = [
    yaml.safe_load(text) for _, text in code_blocks(ROOT / "docs/operate/security.md", "yaml")
]
POLICIES = {obj["metadata"]["name"]: obj for obj in OBJECTS if obj["kind"] == "NetworkPolicy"}
UDP, TCP = Traffic("UDP", 53), Traffic("TCP", 53)


def pod(namespace: str, **labels: str) -> Party:
    """A pod of the pod network."""
    return Party(namespace, labels, {"kubernetes.io/metadata.name": namespace}, ("10.244.1.2",))


def address(text: str) -> Party:
    """Somebody who is no pod."""
    return Party(addresses=(text,))


DNS = pod("kube-system", **{"k8s-app": "kube-dns"})
WEB = pod("shop", app="web")
PROMETHEUS = pod("monitoring", app="prometheus")
NODE = address("192.168.7.7")


def passes(policy: str, direction: Direction, own: Party, peer: Party, traffic: Traffic) -> bool:
    """Whether the policy, which must select `own`, lets it through."""
    read = read_object(POLICIES[policy])
    assert isinstance(read, NetworkPolicy)
    assert selecting([read], direction, own)
    return allowing([read], direction, peer, peer if direction is Direction.EGRESS else own, traffic) is not None


def test_the_schemas_take_the_policies() -> None:
    assert len(POLICIES) == 2
    assert faults(POLICIES.values()) == []


def test_the_schema_takes_the_admission_policy() -> None:
    [admission] = [obj for obj in OBJECTS if obj["kind"] == "ValidatingAdmissionPolicy"]
    kubernetes_validate.validate(admission, "1.37", strict=True)


@pytest.mark.parametrize(
    ("peer", "traffic", "allowed"),
    [
        (DNS, UDP, True),
        (DNS, TCP, True),
        (DNS, Traffic("TCP", 9153), False),
        (pod("kube-system", app="other"), UDP, False),
        (pod("shop", **{"k8s-app": "kube-dns"}), UDP, False),
        (address("169.254.20.10"), UDP, True),
        (address("10.96.0.10"), TCP, True),
        (address("192.0.2.53"), UDP, False),
    ],
)
def test_clients(peer: Party, traffic: Traffic, allowed: bool) -> None:
    assert passes("allow-dns", Direction.EGRESS, WEB, peer, traffic) is allowed


@pytest.mark.parametrize(
    ("peer", "traffic", "allowed"),
    [
        (WEB, UDP, True),
        (WEB, TCP, True),
        (NODE, UDP, True),
        (NODE, TCP, True),
        (address("203.0.113.9"), UDP, False),
        (PROMETHEUS, Traffic("TCP", 9153), True),
        (WEB, Traffic("TCP", 9153), False),
        (NODE, Traffic("TCP", 8080), True),
        (NODE, Traffic("TCP", 8181), True),
        (WEB, Traffic("TCP", 8080), False),
    ],
)
def test_who_reaches_the_dns_pods(peer: Party, traffic: Traffic, allowed: bool) -> None:
    assert passes("dns", Direction.INGRESS, DNS, peer, traffic) is allowed


@pytest.mark.parametrize(
    ("peer", "traffic", "allowed"),
    [
        (address("192.0.2.53"), UDP, True),
        (address("192.0.2.53"), TCP, True),
        (address("192.168.0.10"), Traffic("TCP", 6443), True),
        (address("192.168.0.10"), UDP, False),
        (address("203.0.113.9"), Traffic("TCP", 443), False),
    ],
)
def test_whom_the_dns_pods_reach(peer: Party, traffic: Traffic, allowed: bool) -> None:
    assert passes("dns", Direction.EGRESS, DNS, peer, traffic) is allowed
