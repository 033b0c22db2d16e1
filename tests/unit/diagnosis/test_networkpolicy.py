"""The meaning of NetworkPolicies, rule by rule, as the API describes it."""

from __future__ import annotations

from typing import Any

import pytest

from support.dnscluster import policy
from waypost.diagnosis.networkpolicy import Direction, Party, Traffic, allowing, selecting
from waypost.diagnosis.objects import NetworkPolicy
from waypost.diagnosis.reading import read_object

EGRESS, INGRESS = Direction.EGRESS, Direction.INGRESS
UDP, TCP = Traffic("UDP", 53), Traffic("TCP", 53)
DNS = Party(
    "kube-system",
    {"k8s-app": "kube-dns", "tier": "dns"},
    {"kubernetes.io/metadata.name": "kube-system"},
    ("10.244.1.2", "fd00::2"),
    {("dns", "UDP"): 53, ("dns-tcp", "TCP"): 53},
)
WEB = Party("shop", {"app": "web"}, {"kubernetes.io/metadata.name": "shop", "team": "a"}, ("10.244.3.7",))


def made(**spec: Any) -> NetworkPolicy:
    found = read_object(policy("p", **spec))
    assert isinstance(found, NetworkPolicy)
    return found


def passes(*policies: NetworkPolicy, traffic: Traffic = UDP, target: Party = DNS) -> bool:
    """Whether `web` may ask."""
    selected = selecting(policies, EGRESS, WEB)
    return not selected or allowing(selected, EGRESS, target, target, traffic) is not None


def to(*peers: Any, ports: Any = ()) -> NetworkPolicy:
    return made(policyTypes=["Egress"], egress=[{"to": list(peers), "ports": list(ports)}])


class TestSelecting:
    @pytest.mark.parametrize(
        ("spec", "egress", "ingress"),
        [
            ({"policyTypes": ["Egress"]}, True, False),
            ({"policyTypes": ["Ingress"]}, False, True),
            ({"policyTypes": ["Ingress", "Egress"]}, True, True),
            ({}, False, True),
            ({"egress": [{}]}, True, True),
            ({"ingress": [{}]}, False, True),
            ({"policyTypes": ["Ingress"], "egress": [{}]}, False, True),
        ],
    )
    def test_policy_types(self, spec: dict[str, Any], egress: bool, ingress: bool) -> None:
        each = made(**spec)
        assert bool(selecting([each], EGRESS, WEB)) is egress
        assert bool(selecting([each], INGRESS, WEB)) is ingress

    @pytest.mark.parametrize(
        ("selector", "selected"),
        [
            ({}, True),
            ({"matchLabels": {"app": "web"}}, True),
            ({"matchLabels": {"app": "db"}}, False),
            ({"matchLabels": {"app": "web", "tier": "x"}}, False),
            ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, True),
            ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
            ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}, True),
            ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
            ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
            ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
            ({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]}, False),
            ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
        ],
    )
    def test_pod_selector(self, selector: dict[str, Any], selected: bool) -> None:
        assert bool(selecting([made(podSelector=selector, policyTypes=["Egress"])], EGRESS, WEB)) is selected

    def test_only_in_its_own_namespace(self) -> None:
        other = read_object(policy("p", "other", policyTypes=["Egress"]))
        assert isinstance(other, NetworkPolicy)
        assert selecting([other], EGRESS, WEB) == []

    def test_never_a_party_that_is_no_pod(self) -> None:
        assert selecting([made(policyTypes=["Egress"])], EGRESS, Party(addresses=("192.0.2.1",))) == []


class TestPeers:
    def test_no_policy_is_open_and_no_rule_is_closed(self) -> None:
        assert passes()
        assert not passes(made(policyTypes=["Egress"]))
        assert not passes(made(policyTypes=["Egress"], egress=[]))

    def test_an_empty_rule_allows_everything(self) -> None:
        assert passes(made(policyTypes=["Egress"], egress=[{}]))
        assert passes(to())

    @pytest.mark.parametrize(
        ("peer", "allowed"),
        [
            ({"namespaceSelector": {}}, True),
            ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}, True),
            ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}, False),
            ({"podSelector": {}}, False),
            ({"podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}, False),
            ({"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}, True),
            ({"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "other"}}}, False),
            ({"namespaceSelector": {"matchLabels": {"x": "y"}}, "podSelector": {}}, False),
            ({"ipBlock": {"cidr": "10.244.0.0/16"}}, True),
            ({"ipBlock": {"cidr": "10.244.1.2/32"}}, True),
            ({"ipBlock": {"cidr": "10.244.1.7/24"}}, True),
            ({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}, False),
            ({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["192.168.0.0/16", "10.245.0.0/16"]}}, True),
            ({"ipBlock": {"cidr": "fd00::/8"}}, True),
            ({"ipBlock": {"cidr": "::/0", "except": ["fd00::/64"]}}, False),
            ({"ipBlock": {"cidr": "10.96.0.10/32"}}, False),
            ({"ipBlock": {"cidr": "not a network"}}, False),
            ({}, False),
        ],
    )
    def test_one_peer(self, peer: dict[str, Any], allowed: bool) -> None:
        assert passes(to(peer)) is allowed

    def test_a_pod_selector_alone_means_the_own_namespace(self) -> None:
        near = Party("shop", {"k8s-app": "kube-dns"}, WEB.namespace_labels, ("10.244.9.9",))
        assert passes(to({"podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}), target=near)

    def test_entries_are_alternatives(self) -> None:
        namespace = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
        assert passes(to({"podSelector": {"matchLabels": {"k8s-app": "no"}}}, namespace))

    def test_policies_add_up(self) -> None:
        assert passes(made(policyTypes=["Egress"]), to({"namespaceSelector": {}}))

    def test_rules_do_not_mix(self) -> None:
        rules = [
            {"to": [{"namespaceSelector": {}}], "ports": [{"port": 443}]},
            {"to": [{"podSelector": {}}], "ports": [{"protocol": "UDP", "port": 53}]},
        ]
        assert not passes(made(policyTypes=["Egress"], egress=rules))

    def test_the_host_network_is_reached_by_address_only(self) -> None:
        node = Party(addresses=("192.0.2.1",))
        assert not passes(to({"namespaceSelector": {}}), target=node)
        assert passes(to({"ipBlock": {"cidr": "192.0.2.0/24"}}), target=node)
        assert passes(to(), target=node)


class TestPorts:
    @pytest.mark.parametrize(
        ("ports", "udp", "tcp"),
        [
            ([{"protocol": "UDP", "port": 53}], True, False),
            ([{"protocol": "TCP", "port": 53}], False, True),
            ([{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}], True, True),
            ([{"port": 53}], False, True),
            ([{"protocol": "UDP"}], True, False),
            ([{}], False, True),
            ([{"protocol": "UDP", "port": 5353}], False, False),
            ([{"protocol": "UDP", "port": 1, "endPort": 100}], True, False),
            ([{"protocol": "UDP", "port": 53, "endPort": 53}], True, False),
            ([{"protocol": "UDP", "port": 54, "endPort": 100}], False, False),
            ([{"protocol": "UDP", "port": 1, "endPort": 52}], False, False),
            ([{"protocol": "UDP", "port": "dns"}], True, False),
            ([{"protocol": "TCP", "port": "dns"}], False, False),
            ([{"protocol": "TCP", "port": "dns-tcp"}], False, True),
            ([{"protocol": "UDP", "port": "nowhere"}], False, False),
            ([{"protocol": "SCTP", "port": 53}], False, False),
        ],
    )
    def test_ports(self, ports: list[dict[str, Any]], udp: bool, tcp: bool) -> None:
        each = to({"namespaceSelector": {}}, ports=ports)
        assert (passes(each), passes(each, traffic=TCP)) == (udp, tcp)

    def test_a_name_means_the_number_that_this_pod_gives_it(self) -> None:
        shifted = Party(DNS.namespace, DNS.labels, DNS.namespace_labels, DNS.addresses, {("dns", "UDP"): 5353})
        each = to({"namespaceSelector": {}}, ports=[{"protocol": "UDP", "port": "dns"}])
        assert not passes(each, target=shifted)
        assert passes(each, traffic=Traffic("UDP", 5353), target=shifted)


class TestIngress:
    @pytest.mark.parametrize(
        ("rule", "allowed"),
        [
            ({}, True),
            ({"from": [{"namespaceSelector": {}}]}, True),
            ({"from": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]}, True),
            ({"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]}, False),
            ({"from": [{"podSelector": {}}]}, False),
            ({"from": [{"ipBlock": {"cidr": "10.244.3.0/24"}}]}, True),
            ({"from": [{"namespaceSelector": {}}], "ports": [{"protocol": "UDP", "port": "dns"}]}, True),
            ({"from": [{"namespaceSelector": {}}], "ports": [{"protocol": "UDP", "port": 9153}]}, False),
        ],
    )
    def test_rules_of_the_dns_pods(self, rule: dict[str, Any], allowed: bool) -> None:
        each = read_object(policy("p", "kube-system", ingress=[rule]))
        assert isinstance(each, NetworkPolicy)
        selected = selecting([each], INGRESS, DNS)
        assert selected
        assert (allowing(selected, INGRESS, WEB, DNS, UDP) is not None) is allowed
