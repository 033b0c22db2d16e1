"""Whether NetworkPolicies let a connection pass (networking.k8s.io/v1).

A pod that no policy selects for a direction is open in it. Once one does, only what a rule of some selecting policy
names may pass. Both ends have their say: egress policies at the source, ingress policies at the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from waypost.diagnosis.objects import EgressRule, IngressRule, IPBlock, NetworkPolicy, Peer, PolicyPort
from waypost.diagnosis.selectors import selects


class Direction(StrEnum):
    """As policyTypes writes it."""

    EGRESS = "Egress"
    INGRESS = "Ingress"


@dataclass(frozen=True, slots=True)
class Party:
    """One end of a connection. Without a namespace it is no pod of the pod network: only an ipBlock can name it.

    `ports` are the numbers of named container ports by (name, protocol).
    """

    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    ports: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Traffic(NamedTuple):
    """Protocol (`UDP`, `TCP`, `SCTP`) and port number at the target."""

    protocol: str
    port: int

    def __str__(self) -> str:
        return f"{self.protocol} {self.port}"


def selecting(policies: Iterable[NetworkPolicy], direction: Direction, pod: Party) -> list[NetworkPolicy]:
    """The policies that restrict a pod in a direction; none leave it open."""
    return [
        policy
        for policy in policies
        if pod.namespace
        and policy.metadata.namespace == pod.namespace
        and _covers(policy, direction)
        and selects(policy.spec.pod_selector, pod.labels)
    ]


def allowing(
    policies: Sequence[NetworkPolicy], direction: Direction, peer: Party, target: Party, traffic: Traffic
) -> NetworkPolicy | None:
    """The first of the selecting policies that lets the traffic pass.

    `peer` is the other end; `target` the end that listens, whose names of ports count in both directions.
    """
    for policy in policies:
        for peers, ports in _rules(policy, direction):
            names_peer = not peers or any(names(each, policy.metadata.namespace, peer) for each in peers)
            if names_peer and (not ports or any(_holds(port, traffic, target) for port in ports)):
                return policy
    return None


def names(peer: Peer, namespace: str, party: Party) -> bool:
    """Whether a peer of a policy in `namespace` means this party. Both selectors of one peer must hold."""
    if peer.ip_block is not None:
        return any(_inside(peer.ip_block, address) for address in party.addresses)
    if not party.namespace or (peer.pod_selector is None and peer.namespace_selector is None):
        return False
    if peer.namespace_selector is None:
        near = party.namespace == namespace
    else:
        near = selects(peer.namespace_selector, party.namespace_labels)
    return near and (peer.pod_selector is None or selects(peer.pod_selector, party.labels))


def _covers(policy: NetworkPolicy, direction: Direction) -> bool:
    """Without policyTypes a policy is about ingress, and about egress if it has such rules."""
    types = policy.spec.policy_types
    if types:
        return direction in types
    return direction is Direction.INGRESS or bool(policy.spec.egress)


def _rules(policy: NetworkPolicy, direction: Direction) -> Iterator[tuple[list[Peer], list[PolicyPort]]]:
    rules: Sequence[EgressRule | IngressRule]
    rules = policy.spec.egress if direction is Direction.EGRESS else policy.spec.ingress
    for rule in rules:
        yield rule.to if isinstance(rule, EgressRule) else rule.peers, rule.ports


def _holds(port: PolicyPort, traffic: Traffic, target: Party) -> bool:
    if port.protocol != traffic.protocol:
        return False
    if port.port is None:
        return True
    if isinstance(port.port, str):
        return target.ports.get((port.port, port.protocol)) == traffic.port
    return port.port <= traffic.port <= (port.end_port or port.port)


def _inside(block: IPBlock, address: str) -> bool:
    return _in_network(address, block.cidr) and not any(_in_network(address, each) for each in block.excepted)


def _in_network(address: str, cidr: str) -> bool:
    """False for what is no address or no network, and for another family."""
    try:
        return ip_address(address) in ip_network(cidr, strict=False)
    except ValueError:
        return False
