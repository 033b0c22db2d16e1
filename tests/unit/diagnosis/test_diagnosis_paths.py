"""NetworkPolicies between the clients and the DNS pods of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from support.dnscluster import Json, changed, client, cluster, facts, findings, namespace, objects, policy, verdicts
from waypost.diagnosis.finding import Finding

DENY = policy("deny-all", policyTypes=["Egress"])
TO_DNS: Json = {
    "to": [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        }
    ],
    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
}


def judged(code: str, *extra: Json) -> list[Finding]:
    return findings(code, facts([*objects().values(), *extra]))


def egress(rule: Json, name: str = "allow-dns", **spec: Any) -> Json:
    return policy(name, policyTypes=["Egress"], egress=[rule], **spec)


class TestEgress:
    def test_no_policy(self) -> None:
        assert verdicts("D501", facts()) == ["ok"]

    def test_deny_all(self) -> None:
        udp, tcp = judged("D501", DENY)
        assert (udp.verdict, tcp.verdict) == ("failure", "warning")
        assert udp.summary == "pods in namespace shop may not ask DNS over UDP"
        assert udp.evidence == (
            "NetworkPolicy shop/(deny-all).spec.egress: no rule allows UDP 53 to Pod coredns-a",
            "NetworkPolicy shop/(deny-all).spec.egress: no rule allows UDP 53 to Pod coredns-b",
            "clients in namespace shop: web",
        )
        assert "kubernetes.io/metadata.name: kube-system" in udp.remedy
        assert "k8s-app: kube-dns" in udp.remedy

    def test_deny_and_allow(self) -> None:
        assert [found.verdict for found in judged("D501", DENY, egress(TO_DNS))] == ["ok"]

    def test_udp_only(self) -> None:
        [found] = judged("D501", egress({**TO_DNS, "ports": TO_DNS["ports"][:1]}))
        assert found.verdict == "warning"
        assert found.summary == "pods in namespace shop may not ask DNS over TCP: large answers fail"

    def test_selectors_in_two_entries(self) -> None:
        [peer] = TO_DNS["to"]
        apart = [{"namespaceSelector": peer["namespaceSelector"]}, {"podSelector": peer["podSelector"]}]
        assert [found.verdict for found in judged("D501", egress({**TO_DNS, "to": apart}))] == ["ok"]

    def test_pods_of_the_wrong_namespace(self) -> None:
        [peer] = TO_DNS["to"]
        assert judged("D501", egress({**TO_DNS, "to": [{"podSelector": peer["podSelector"]}]}))[0].verdict == "failure"

    def test_a_policy_for_some_pods_only(self) -> None:
        db = client("db", labels={"app": "db"})
        found = judged("D501", db, policy("db", policyTypes=["Egress"], podSelector={"matchLabels": {"app": "db"}}))
        assert [each.evidence[-1] for each in found] == ["clients in namespace shop: db"] * 2

    def test_only_some_dns_pods(self) -> None:
        def label(objects: dict[str, Json]) -> None:
            objects["Pod/coredns-a"]["metadata"]["labels"] = {"k8s-app": "kube-dns", "version": "new"}

        selector = {"matchLabels": {"version": "new"}}
        rule = {"to": [{"namespaceSelector": {}, "podSelector": selector}]}
        found = findings("D501", facts([*changed(label), egress(rule)]))
        assert [each.evidence[0] for each in found] == [
            f"NetworkPolicy shop/(allow-dns).spec.egress: no rule allows {protocol} 53 to Pod coredns-b"
            for protocol in ("UDP", "TCP")
        ]

    def test_allowed_by_the_services_address_only(self) -> None:
        found = judged("D501", egress({"to": [{"ipBlock": {"cidr": "10.96.0.10/32"}}]}))
        assert [each.verdict for each in found] == ["warning", "warning"]
        assert "allowed by the Service's address only" in found[0].summary

    def test_the_target_port_counts(self) -> None:
        def openshift(objects: dict[str, Json]) -> None:
            for port in objects["Service/kube-dns"]["spec"]["ports"][:2]:
                port["targetPort"] = 5353

        [udp, _] = findings("D501", facts([*changed(openshift), egress(TO_DNS)]))
        assert (udp.verdict, udp.evidence[0]) == (
            "failure",
            "NetworkPolicy shop/(allow-dns).spec.egress: no rule allows UDP 5353 to Pod coredns-a",
        )

    @pytest.mark.parametrize(
        "spec",
        [
            {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"},
            {"dnsPolicy": "Default"},
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.53"]}},
        ],
    )
    def test_pods_that_policies_do_not_stop(self, spec: Json) -> None:
        def only(objects: dict[str, Json]) -> None:
            objects["Pod/web"] = client("web", **spec)

        assert verdicts("D501", facts([*changed(only), DENY])) == ["ok"]

    def test_policy_none_that_names_the_service(self) -> None:
        def only(objects: dict[str, Json]) -> None:
            objects["Pod/web"] = client("web", dnsPolicy="None", dnsConfig={"nameservers": ["10.96.0.10"]})

        assert verdicts("D501", facts([*changed(only), DENY])) == ["failure", "warning"]

    def test_chosen_clients(self) -> None:
        items = [*objects().values(), DENY, namespace("other"), client("api", "other")]
        assert verdicts("D501", facts(cluster=cluster(items, clients=("other", "")))) == ["ok"]
        assert verdicts("D501", facts(cluster=cluster(items, clients=("shop", "web")))) == ["failure", "warning"]
        assert verdicts("D501", facts(cluster=cluster(items, clients=("shop", "gone")))) == ["unknown"]

    def test_many_clients_are_one_finding(self) -> None:
        found = judged("D501", DENY, *(client(f"web-{number}") for number in range(9)))
        assert [each.evidence[-1] for each in found] == ["clients in namespace shop: web, web-0, web-1 and 7 more"] * 2

    def test_namespaces_are_apart(self) -> None:
        other = [namespace("other"), client("api", "other"), policy("deny", "other", policyTypes=["Egress"])]
        assert [each.summary.split()[3] for each in judged("D501", DENY, *other)] == ["shop", "shop", "other", "other"]


class TestIngress:
    def test_no_policy(self) -> None:
        assert verdicts("D502", facts()) == ["ok"]

    def dns(self, *rules: Json) -> Json:
        return policy("dns", "kube-system", podSelector={"matchLabels": {"k8s-app": "kube-dns"}}, ingress=list(rules))

    def test_closed(self) -> None:
        found = judged("D502", self.dns())
        assert [each.verdict for each in found] == ["failure", "warning", "failure", "warning"]
        assert found[0].summary == "Pod kube-system/coredns-a may not be asked over UDP 53 from shop"
        assert found[0].evidence[1] == "clients: web"

    def test_open(self) -> None:
        [found] = judged("D502", self.dns({"from": [{"namespaceSelector": {}}]}))
        assert (found.verdict, found.evidence) == ("ok", ("spec.ingress of dns allows them",))

    def test_for_other_pods(self) -> None:
        assert [
            each.verdict for each in judged("D502", policy("x", "kube-system", podSelector={"matchLabels": {"a": "b"}}))
        ] == ["ok"]

    def test_the_host_network_needs_its_address(self) -> None:
        agent = client("agent", hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
        rule = {"from": [{"namespaceSelector": {}}]}
        found = judged("D502", agent, self.dns(rule))
        assert {each.summary.partition(" from ")[2] for each in found} == {"node 10.244.3.7"}
        rule["from"].append({"ipBlock": {"cidr": "10.244.3.0/24"}})
        assert [each.verdict for each in judged("D502", agent, self.dns(rule))] == ["ok"]
