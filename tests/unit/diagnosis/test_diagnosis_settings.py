"""What kubelets and pods are told about DNS, node-local DNS, the autoscaler, and what kubelets complain about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.dnscluster import IP, KUBELET, Json, changed, client, facts, findings, node_files, verdicts
from waypost.diagnosis.facts import NodeText
from waypost.diagnosis.finding import Gap
from waypost.podside.policy import Kubelet

HOST_NETWORK = {"hostNetwork": True}


def with_kubelet(text: str) -> list[Json]:
    return changed(lambda objects: objects["ConfigMap/kubelet-config"]["data"].update(kubelet=text))


def with_client(**spec: Any) -> list[Json]:
    return changed(lambda objects: objects.update({"Pod/web": client("web", **spec)}))


def config_map(name: str, **data: str) -> Json:
    meta = {"name": name, "namespace": "kube-system"}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": data}


@pytest.mark.parametrize("code", ["D109", "D207", "D208", "D503", "D504", "D505"])
def test_healthy(code: str) -> None:
    assert set(verdicts(code, facts())) == {"ok"}


class TestClusterDns:
    def judged(self, text: str, **fields: Any) -> list[str]:
        return verdicts("D109", facts(with_kubelet(text), node=Gap("none"), **fields))

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            (KUBELET, ["ok"]),
            (KUBELET.replace(IP, "10.96.0.11"), ["failure"]),
            (KUBELET.replace(IP, "010.096.0.10"), ["ok"]),
            (KUBELET.replace("- 10.96.0.10\n", ""), ["failure"]),
            (KUBELET.replace("cluster.local", "corp.example"), ["ok", "failure"]),
            (KUBELET.replace("cluster.local", "Cluster.Local."), ["ok"]),
            (KUBELET.replace("clusterDomain: cluster.local", ""), ["ok", "warning"]),
            ("clusterDNS: 10.96.0.10", ["unknown"]),
            ("}", ["unknown"]),
            ("kind: Other\n", ["unknown"]),
        ],
    )
    def test_config_map(self, text: str, found: list[str]) -> None:
        assert self.judged(text) == found

    def test_without_a_corefile_the_domain_is_not_judged(self) -> None:
        assert self.judged(KUBELET.replace("cluster.local", "corp.example"), configuration=Gap("none")) == ["ok"]

    def test_the_nodes_own(self) -> None:
        given = facts(node=replace(node_files(), kubelet=Kubelet(("10.96.0.99",), "cluster.local")))
        assert verdicts("D109", given) == ["ok", "failure"]

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            (f"nameserver {IP}\n", "ok"), ("nameserver 192.0.2.53\n", "warning"), ("", "warning"),
            ("nameserver\n", "unknown"),
        ],
    )  # fmt: skip
    def test_this_pods(self, text: str, verdict: str) -> None:
        given = facts(with_kubelet("}"), node=Gap("none"), own_resolv_conf=NodeText("/etc/resolv.conf", text.encode()))
        assert verdicts("D109", given) == [verdict]

    def test_the_caches_address_is_right_too(self) -> None:
        items = [*with_kubelet(KUBELET.replace(IP, "169.254.20.10")), *TestNodeLocal.objects("169.254.20.10")]
        assert verdicts("D109", facts(items, node=Gap("none"))) == ["ok"]


class TestNodeLocal:
    @staticmethod
    def objects(addresses: str, corefile: str = "cluster.local:53 {\n}\n", ready: int = 2, **spec: Any) -> list[Json]:
        container = {
            "name": "node-cache",
            "image": "registry.k8s.io/dns/k8s-dns-node-cache:1.26.7",
            "args": ["-localip", addresses, "-conf", "/etc/Corefile", "-upstreamsvc", "kube-dns"],
            **spec,
        }
        meta = {"name": "node-local-dns", "namespace": "kube-system"}
        daemon_set = {
            "kind": "DaemonSet",
            "apiVersion": "apps/v1",
            "metadata": meta,
            "spec": {"template": {"spec": {"containers": [container], "hostNetwork": True}}},
            "status": {"desiredNumberScheduled": 2, "numberReady": ready},
        }
        return [daemon_set, config_map("node-local-dns", Corefile=corefile)]

    def judged(self, *args: Any, **fields: Any) -> list[str]:
        return verdicts("D208", facts([*changed(), *self.objects(*args, **fields)]))

    def test_whole(self) -> None:
        assert self.judged(f"169.254.20.10,{IP}") == ["ok"]

    def test_config_map_alone(self) -> None:
        assert verdicts("D208", facts([*changed(), config_map("node-local-dns")])) == ["warning"]

    def test_daemon_set_alone(self) -> None:
        assert verdicts("D208", facts([*changed(), self.objects(IP)[0]])) == ["failure"]

    def test_not_ready(self) -> None:
        assert self.judged(IP, ready=1) == ["failure"]

    @pytest.mark.parametrize("addresses", [f"{IP},", "__PILLAR__LOCAL__DNS__", ""])
    def test_addresses(self, addresses: str) -> None:
        assert self.judged(addresses)[0] == "failure"

    @pytest.mark.parametrize(
        ("placeholder", "found"),
        [
            ("__PILLAR__DNS__DOMAIN__", ["failure"]), ("__PILLAR__CLUSTER__DNS__", ["ok"]),
            ("__PILLAR__UPSTREAM__SERVERS__", ["ok"]), ("__PILLAR__LOCAL__DNS__", ["failure"]),
        ],
    )  # fmt: skip
    def test_placeholders(self, placeholder: str, found: list[str]) -> None:
        assert self.judged(IP, f"{placeholder}:53 {{\n}}\n") == found

    def test_no_service_of_the_upstreams(self) -> None:
        assert self.judged(IP, args=["-localip", IP, "-upstreamsvc=kube-dns-upstream"]) == ["failure"]

    def test_nobody_asks_it(self) -> None:
        assert self.judged("169.254.20.10") == ["warning"]

    def test_policies_have_to_let_pods_reach_it(self) -> None:
        from support.dnscluster import policy

        peers = [{"namespaceSelector": {}}]
        blocks = [*peers, {"ipBlock": {"cidr": f"{IP}/32"}}]
        for to, verdict in ((peers, "warning"), (blocks, "ok")):
            items = [*changed(), *self.objects(IP), policy("p", policyTypes=["Egress"], egress=[{"to": to}])]
            assert verdict in verdicts("D501", facts(items))


class TestAutoscaler:
    LINEAR = '{"coresPerReplica":256,"nodesPerReplica":16,"preventSinglePointFailure":true}'

    @pytest.mark.parametrize(
        ("data", "verdict"),
        [
            ({"linear": LINEAR}, "ok"),
            ({"linear": '{"min":2}'}, "failure"),
            ({"linear": "{"}, "failure"),
            ({}, "failure"),
            ({"linear": LINEAR, "ladder": "{}"}, "failure"),
            ({"ladder": "{}"}, "warning"),
            ({"ladder": '{"nodesToReplicas":[[1,1],[2,2]]}'}, "ok"),
            ({"linear": '{"nodesPerReplica":16,"max":1}'}, "warning"),
        ],
    )
    def test_data(self, data: dict[str, str], verdict: str) -> None:
        assert verdicts("D207", facts([*changed(), config_map("dns-autoscaler", **data)])) == [verdict]

    @pytest.mark.parametrize(("extra", "verdict"), [([], "failure"), (["--default-params={}"], "unknown")])
    def test_config_map_missing(self, extra: list[str], verdict: str) -> None:
        args = ["--configmap=scale", "--target=deployment/coredns", *extra]
        deployment = {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"name": "scaler", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "autoscaler", "command": args}]}}},
        }
        assert verdicts("D207", facts([*changed(), deployment])) == [verdict]


class TestLimits:
    def test_too_many_nameservers(self) -> None:
        given = facts(with_client(dnsConfig={"nameservers": ["192.0.2.1", "192.0.2.2", "192.0.2.3"]}))
        [found] = findings("D503", given)
        assert found.verdict == "warning"
        assert found.evidence[0].startswith("DNSConfigForming: Nameserver limits were exceeded")
        assert "Pod shop/web" in found.summary

    def test_too_many_searches(self) -> None:
        given = facts(with_client(dnsConfig={"searches": [f"d{number}" for number in range(32)]}))
        assert verdicts("D503", given) == ["warning"]

    @pytest.mark.parametrize(("length", "verdict"), [(150, "ok"), (240, "warning")])
    def test_a_line_that_musl_does_not_read(self, length: int, verdict: str) -> None:
        labels = ".".join(["a" * 59] * 4)[:length]
        assert verdicts("D503", facts(with_client(dnsConfig={"searches": [labels]}))) == [verdict]

    def test_the_nodes_list_counts(self) -> None:
        search = " ".join(f"d{number}" for number in range(30))
        assert "warning" in verdicts("D503", facts(node=node_files(f"search {search}\n")))

    def test_a_file_that_stops_every_pod(self) -> None:
        assert verdicts("D503", facts(node=node_files("nameserver\n"))) == ["unknown"]

    def test_no_kubelet_known(self) -> None:
        [found] = findings(
            "D503", facts(changed(lambda objects: objects.pop("ConfigMap/kubelet-config")), node=Gap("-"))
        )
        assert (found.verdict, found.evidence) == (
            "ok",
            ("no kubelet's configuration is known: taken to have cluster.local",),
        )


class TestPitfalls:
    @pytest.mark.parametrize(
        ("spec", "found"),
        [
            (HOST_NETWORK, ["warning"]),
            ({**HOST_NETWORK, "dnsPolicy": ""}, ["warning"]),
            ({**HOST_NETWORK, "dnsPolicy": "ClusterFirstWithHostNet"}, ["ok"]),
            ({**HOST_NETWORK, "dnsPolicy": "Default"}, ["ok"]),
            ({**HOST_NETWORK, "priorityClassName": "system-node-critical"}, ["ok"]),
            ({"dnsPolicy": "None"}, ["failure"]),
            ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.53"]}}, ["ok"]),
            ({"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}}, ["ok"]),
            ({"dnsConfig": {"options": [{"name": "ndots:2"}]}}, ["warning"]),
            ({"dnsConfig": {"options": [{"name": "ndots"}]}}, ["warning"]),
            ({"dnsConfig": {"options": [{"name": "ndots", "value": ""}]}}, ["warning"]),
            ({"dnsConfig": {"options": [{"name": "attempts", "value": "0"}]}}, ["failure"]),
            ({"dnsConfig": {"options": [{"name": "edns0"}]}}, ["ok"]),
            ({"dnsConfig": {"nameservers": ["192.0.2.53"]}}, ["warning"]),
            ({"dnsConfig": {"nameservers": [IP]}}, ["ok"]),
        ],
    )
    def test_each(self, spec: Json, found: list[str]) -> None:
        assert verdicts("D504", facts(with_client(**spec))) == found

    def test_alike_pods_are_one_finding(self) -> None:
        agents = [client(f"agent-{number}", hostNetwork=True) for number in range(5)]
        [found] = findings("D504", facts([*changed(), *agents]))
        assert found.summary.endswith(": Pod shop/agent-0, Pod shop/agent-1, Pod shop/agent-2 and 2 more")


class TestEvents:
    def event(self, reason: str, name: str) -> Json:
        about = {"kind": "Pod", "name": name, "namespace": "shop"}
        meta = {"name": f"{name}.{reason}", "namespace": "shop"}
        return {
            "kind": "Event", "apiVersion": "v1", "metadata": meta, "involvedObject": about,
            "reason": reason, "message": "m",
        }  # fmt: skip

    def test_each_reason(self) -> None:
        events = [self.event(reason, name) for reason in ("DNSConfigForming", "MissingClusterDNS") for name in "ab"]
        found = findings("D505", facts([*changed(), *events, self.event("Pulled", "a")]))
        assert [each.summary for each in found] == [
            "kubelets report DNSConfigForming for 2 objects",
            "kubelets report MissingClusterDNS for 2 objects",
        ]
        assert found[0].evidence == tuple(f"Event DNSConfigForming of Pod shop/{name}: m" for name in "ab")

    def test_repeated_events_count_once(self) -> None:
        [found] = findings("D505", facts([*changed(), *[self.event("DNSConfigForming", "a")] * 3]))
        assert found.summary == "kubelets report DNSConfigForming for 1 object"
