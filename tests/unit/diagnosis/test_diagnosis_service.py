"""The DNS Service, its ports, selector, endpoints and answers, and whether DNS outlives a loss."""

from __future__ import annotations

from typing import Any

import pytest

from support.dnscluster import IP, Json, changed, cluster, endpoint_slice, facts, findings, verdicts
from waypost.diagnosis.facts import Probe, Probes
from waypost.diagnosis.finding import Gap

SERVICE, SLICE, DEPLOYMENT = "Service/kube-dns", "EndpointSlice/kube-dns-x1", "Deployment/coredns"


def spec(objects: dict[str, Json], key: str, **fields: Any) -> None:
    objects[key]["spec"].update(fields)


def ports(*ports: Json) -> list[Json]:
    return changed(lambda objects: spec(objects, SERVICE, ports=list(ports)))


UDP = {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53}
TCP = {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53}


@pytest.mark.parametrize("code", ["D101", "D102", "D103", "D104", "D105", "D106", "D107", "D108"])
def test_healthy(code: str) -> None:
    assert set(verdicts(code, facts())) == {"ok"}


class TestService:
    def test_missing(self) -> None:
        [found] = findings("D101", facts(changed(lambda objects: objects.pop(SERVICE))))
        assert (found.verdict, found.summary) == ("failure", "there is no Service kube-system/kube-dns")
        assert "--service" in found.remedy

    def test_missing_names_others_with_the_port(self) -> None:
        def rename(objects: dict[str, Json]) -> None:
            objects[SERVICE]["metadata"]["name"] = "rke2-coredns"

        [found] = findings("D101", facts(changed(rename)))
        assert found.evidence == ("Service kube-system/rke2-coredns has port 53",)

    def test_another_service_can_be_named(self) -> None:
        given = facts(cluster=cluster(changed(), service=("openshift-dns", "dns-default")))
        assert verdicts("D101", given) == ["failure"]

    def test_headless(self) -> None:
        given = facts(changed(lambda objects: spec(objects, SERVICE, clusterIP="None", clusterIPs=["None"])))
        assert verdicts("D101", given) == ["warning"]

    def test_checks_behind_it_say_that_it_is_missing(self) -> None:
        given = facts(changed(lambda objects: objects.pop(SERVICE)))
        for code in ("D102", "D103", "D104", "D106", "D107", "D201", "D501", "D504"):
            [found] = findings(code, given)
            assert (found.verdict, found.summary) == ("unknown", "there is no Service kube-system/kube-dns"), code

    def test_objects_that_could_not_be_read(self) -> None:
        [found] = findings("D101", facts(cluster=Gap("dial tcp: refused")))
        assert (found.verdict, found.summary) == ("unknown", "dial tcp: refused")


class TestPorts:
    def test_no_tcp(self) -> None:
        [found] = findings("D102", facts(ports(UDP)))
        assert found.verdict == "failure"
        assert found.evidence == ("Service kube-system/kube-dns.spec.ports: dns 53/UDP",)
        assert "TCP" in found.remedy

    def test_none(self) -> None:
        assert verdicts("D102", facts(ports())) == ["failure", "failure"]

    def test_a_named_target_that_pods_have(self) -> None:
        assert verdicts("D102", facts(ports({**UDP, "targetPort": "dns"}, {**TCP, "targetPort": "dns-tcp"}))) == ["ok"]

    def test_a_named_target_of_the_other_protocol(self) -> None:
        [found] = findings("D102", facts(ports(UDP, {**TCP, "targetPort": "dns"})))
        assert found.verdict == "failure"
        assert found.evidence[1] == "Pod kube-system/coredns-a has no container port dns of TCP"


class TestSelector:
    @pytest.mark.parametrize(("selector", "verdict"), [({}, "warning"), ({"k8s-app": "coredns"}, "failure")])
    def test_selects_nothing(self, selector: dict[str, str], verdict: str) -> None:
        given = facts(changed(lambda objects: spec(objects, SERVICE, selector=selector)))
        assert verdicts("D103", given) == [verdict]

    def test_pods_of_two_deployments(self) -> None:
        def second(objects: dict[str, Json]) -> None:
            other = {**objects[DEPLOYMENT], "metadata": {**objects[DEPLOYMENT]["metadata"], "name": "old-dns"}}
            objects["Deployment/old-dns"] = other

        assert verdicts("D103", facts(changed(second))) == ["warning", "ok"]

    def test_completed_pods_do_not_count(self) -> None:
        def complete(objects: dict[str, Json]) -> None:
            for name in ("a", "b"):
                objects[f"Pod/coredns-{name}"]["status"]["phase"] = "Failed"

        assert verdicts("D103", facts(changed(complete))) == ["failure"]


class TestEndpoints:
    def slices(self, *endpoints: Json) -> list[Json]:
        return changed(lambda objects: objects.update({SLICE: endpoint_slice(*endpoints)}))

    def test_no_slice(self) -> None:
        assert verdicts("D104", facts(changed(lambda objects: objects.pop(SLICE)))) == ["failure"]

    def test_none_ready(self) -> None:
        given = facts(self.slices({"addresses": ["10.244.1.2"], "conditions": {"ready": False}}))
        [found] = findings("D104", given)
        assert found.verdict == "failure"
        assert found.evidence == ("EndpointSlice kube-system/kube-dns-x1.endpoints: 1, none ready",)

    def test_some_ready(self) -> None:
        lost = {"addresses": ["10.244.1.2"], "conditions": {"ready": False}}
        [found] = findings("D104", facts(self.slices(lost, {"addresses": ["10.244.1.3"]})))
        assert (found.verdict, found.summary) == ("warning", "1 of 2 endpoints are ready")
        assert "10.244.1.2" in found.evidence[0]

    def test_no_tcp(self) -> None:
        def udp_only(objects: dict[str, Json]) -> None:
            del objects[SLICE]["ports"][1]

        assert verdicts("D104", facts(changed(udp_only))) == ["failure"]

    def test_another_services_slices_do_not_count(self) -> None:
        def other(objects: dict[str, Json]) -> None:
            objects[SLICE]["metadata"]["labels"]["kubernetes.io/service-name"] = "other"

        assert verdicts("D104", facts(changed(other))) == ["failure"]

    def test_one_node(self) -> None:
        both = ({"addresses": [f"10.244.1.{last}"], "nodeName": "node-1"} for last in (2, 3))
        [found] = findings("D106", facts(self.slices(*both)))
        assert (found.verdict, found.evidence) == ("warning", ("endpoints[].nodeName: node-1",))

    def test_a_single_endpoint_is_the_affair_of_the_replicas(self) -> None:
        assert verdicts("D106", facts(self.slices({"addresses": ["10.244.1.2"], "nodeName": "node-1"}))) == ["ok"]

    def test_nodes_unknown(self) -> None:
        assert verdicts("D106", facts(self.slices({"addresses": ["10.244.1.2"]}))) == ["unknown"]


class TestAnswers:
    @pytest.mark.parametrize(
        ("probe", "verdict"),
        [
            (Probe(f"{IP}:53", "UDP", 5.0, error="no answer"), "failure"),
            (Probe(f"{IP}:53", "TCP", 0.1, "NXDOMAIN"), "failure"),
            (Probe(f"{IP}:53", "TCP", 0.1, "NOERROR"), "ok"),
        ],
    )
    def test_probe(self, probe: Probe, verdict: str) -> None:
        assert verdicts("D105", facts(service_answers=Probes((probe,)))) == [verdict]

    def test_not_asked(self) -> None:
        assert verdicts("D105", facts(service_answers=Gap("from pods only"))) == ["unknown"]
        assert verdicts("D105", facts(service_answers=Probes(()))) == ["unknown"]


class TestAvailability:
    @pytest.mark.parametrize(("replicas", "verdict"), [(0, "failure"), (1, "warning"), (2, "ok"), (5, "ok")])
    def test_replicas(self, replicas: int, verdict: str) -> None:
        assert verdicts("D107", facts(changed(lambda objects: spec(objects, DEPLOYMENT, replicas=replicas)))) == [
            verdict
        ]

    def test_no_deployment(self) -> None:
        given = facts(changed(lambda objects: objects.pop(DEPLOYMENT)))
        assert verdicts("D107", given) == verdicts("D108", given) == ["unknown"]

    @pytest.mark.parametrize(
        ("fields", "verdict"),
        [
            ({"maxUnavailable": 1}, "ok"),
            ({"minAvailable": 1}, "ok"),
            ({"minAvailable": "50%"}, "ok"),
            ({"minAvailable": 2}, "warning"),
            ({"minAvailable": "100%"}, "warning"),
            ({"maxUnavailable": 0}, "warning"),
            ({"maxUnavailable": "0%"}, "warning"),
        ],
    )
    def test_budget(self, fields: Json, verdict: str) -> None:
        def budget(objects: dict[str, Json]) -> None:
            held = objects["PodDisruptionBudget/coredns"]["spec"]
            del held["maxUnavailable"]
            held.update(fields)

        assert verdicts("D108", facts(changed(budget))) == [verdict]

    def test_a_budget_for_other_pods(self) -> None:
        def other(objects: dict[str, Json]) -> None:
            spec(objects, "PodDisruptionBudget/coredns", selector={"matchLabels": {"k8s-app": "other"}})

        assert verdicts("D108", facts(changed(other))) == ["warning"]

    def test_no_budget(self) -> None:
        assert verdicts("D108", facts(changed(lambda objects: objects.pop("PodDisruptionBudget/coredns")))) == [
            "warning"
        ]
