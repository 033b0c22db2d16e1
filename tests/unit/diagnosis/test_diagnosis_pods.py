"""The DNS pods: running, looping, restarting, their rights, versions and own resolver."""

from __future__ import annotations

from typing import Any

import pytest

from support.dnscluster import Json, changed, cluster, configuration, facts, findings, verdicts
from waypost.diagnosis.finding import Gap
from waypost.diagnosis.versions import Image, split_image

POD = "Pod/coredns-a"
LOOP = '[FATAL] plugin/loop: Loop (127.0.0.1:55953 -> :53) detected for zone ".", see https://example.org'


def status(**fields: Any) -> list[Json]:
    return changed(lambda objects: objects[POD]["status"].update(fields))


def container_status(**fields: Any) -> list[Json]:
    return changed(lambda objects: objects[POD]["status"]["containerStatuses"][0].update(fields))


def restarted(reason: str = "Error", message: str = "") -> list[Json]:
    terminated = {"exitCode": 1, "reason": reason, "message": message, "finishedAt": "2026-01-03T00:00:00Z"}
    return container_status(restartCount=7, lastState={"terminated": terminated})


@pytest.mark.parametrize("code", ["D201", "D202", "D203", "D204", "D205", "D206"])
def test_healthy(code: str) -> None:
    assert set(verdicts(code, facts())) == {"ok"}


class TestRunning:
    @pytest.mark.parametrize("reason", ["CrashLoopBackOff", "ImagePullBackOff", "CreateContainerConfigError"])
    def test_waiting(self, reason: str) -> None:
        given = facts(container_status(state={"waiting": {"reason": reason, "message": "why"}}))
        [found] = findings("D201", given)
        assert (found.verdict, found.summary) == ("failure", f"Pod kube-system/coredns-a does not run: {reason}")
        assert found.evidence[0].endswith(f"state.waiting: {reason}: why")

    def test_pending(self) -> None:
        conditions = [{"type": "PodScheduled", "status": "False"}]
        [found] = findings("D201", facts(status(phase="Pending", conditions=conditions)))
        assert found.verdict == "failure"
        assert "PodScheduled=False" in found.evidence[0]

    def test_not_ready(self) -> None:
        assert verdicts("D201", facts(status(conditions=[{"type": "Ready", "status": "False"}]))) == ["failure"]

    def test_none(self) -> None:
        given = facts(changed(lambda objects: [objects.pop(f"Pod/coredns-{name}") for name in "ab"]))
        assert verdicts("D201", given) == ["failure"]


class TestLoop:
    def test_in_the_termination_message(self) -> None:
        [found] = findings("D202", facts(restarted(message=LOOP)))
        assert found.verdict == "failure"
        assert "lastState.terminated.message: Loop (127.0.0.1:55953 -> :53) detected for zone" in found.evidence[0]
        assert "resolvConf" in found.remedy

    def test_in_the_log(self) -> None:
        given = facts(restarted(), logs={("coredns-a", "coredns"): f".:53\n{LOOP}\n"})
        [found] = findings("D202", given)
        assert found.verdict == "failure"
        assert found.evidence[0].startswith("log of Pod kube-system/coredns-a [coredns]: Loop (")

    def test_nothing_says_why_it_restarted(self) -> None:
        assert verdicts("D202", facts(restarted())) == ["unknown"]

    def test_a_log_that_says_something_else(self) -> None:
        given = facts(restarted(), logs={("coredns-a", "coredns"): "[INFO] plugin/reload: Running\n"})
        assert verdicts("D202", given) == ["ok"]

    def test_is_not_counted_as_a_restart_too(self) -> None:
        assert verdicts("D203", facts(restarted(message=LOOP))) == ["ok"]


class TestRestarts:
    def test_out_of_memory(self) -> None:
        [found] = findings("D203", facts(restarted("OOMKilled")))
        assert (found.verdict, found.remedy) == ("warning", "raise the container's memory limit")
        assert "restartCount: 7" in found.evidence[0]

    def test_reason_unknown(self) -> None:
        [found] = findings("D203", facts(container_status(restartCount=1)))
        assert found.summary.endswith("restarted 1 time: reason unknown")


class TestOwnResolver:
    def policy(self, policy: str, host_network: bool = False) -> list[Json]:
        def change(objects: dict[str, Json]) -> None:
            for name in "ab":
                objects[f"Pod/coredns-{name}"]["spec"].update(dnsPolicy=policy, hostNetwork=host_network)

        return changed(change)

    @pytest.mark.parametrize(
        ("policy", "host_network", "found"),
        [
            ("ClusterFirst", False, ["failure", "failure"]),
            ("ClusterFirst", True, ["ok"]),
            ("ClusterFirstWithHostNet", True, ["failure", "failure"]),
            ("Default", False, ["ok"]),
            ("None", False, ["ok"]),
        ],
    )
    def test_forward_to_the_file(self, policy: str, host_network: bool, found: list[str]) -> None:
        assert verdicts("D204", facts(self.policy(policy, host_network))) == found

    def test_forward_to_addresses(self) -> None:
        given = facts(self.policy("ClusterFirst"), configuration=configuration(upstreams=("192.0.2.53",)))
        assert verdicts("D204", given) == ["ok"]

    def test_corefile_unknown(self) -> None:
        given = facts(self.policy("ClusterFirst"), configuration=Gap("no Corefile"))
        assert verdicts("D204", given) == ["warning", "warning"]


class TestRights:
    def test_no_endpointslices(self) -> None:
        [found] = findings("D205", facts(changed(lambda objects: objects["ClusterRole/system:coredns"]["rules"].pop())))
        assert found.verdict == "failure"
        assert "may not list endpointslices.discovery.k8s.io, watch endpointslices.discovery.k8s.io" in found.summary

    def test_no_watch(self) -> None:
        def list_only(objects: dict[str, Json]) -> None:
            objects["ClusterRole/system:coredns"]["rules"][0]["verbs"] = ["list", "get"]

        [found] = findings("D205", facts(changed(list_only)))
        assert "may not watch services, watch namespaces" in found.summary

    def test_only_for_some_names(self) -> None:
        def named(objects: dict[str, Json]) -> None:
            objects["ClusterRole/system:coredns"]["rules"][0]["resourceNames"] = ["one"]

        assert verdicts("D205", facts(changed(named))) == ["failure"]

    @pytest.mark.parametrize(
        ("subject", "verdict"),
        [
            ({"kind": "ServiceAccount", "name": "coredns", "namespace": "other"}, "failure"),
            ({"kind": "ServiceAccount", "name": "other", "namespace": "kube-system"}, "failure"),
            ({"kind": "Group", "name": "system:serviceaccounts:kube-system"}, "ok"),
            ({"kind": "Group", "name": "system:masters"}, "failure"),
            ({"kind": "User", "name": "system:serviceaccount:kube-system:coredns"}, "ok"),
        ],
    )
    def test_subjects(self, subject: Json, verdict: str) -> None:
        def bind(objects: dict[str, Json]) -> None:
            objects["ClusterRoleBinding/system:coredns"]["subjects"] = [subject]

        assert verdicts("D205", facts(changed(bind))) == [verdict]

    def test_wildcards(self) -> None:
        def everything(objects: dict[str, Json]) -> None:
            objects["ClusterRole/system:coredns"]["rules"] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]

        assert verdicts("D205", facts(changed(everything))) == ["ok"]

    def test_without_the_plugin_none_are_needed(self) -> None:
        given = facts(
            changed(lambda objects: objects.pop("ClusterRoleBinding/system:coredns")),
            configuration=configuration(directives=frozenset(("forward",))),
        )
        assert verdicts("D205", given) == ["ok"]


class TestVersions:
    def image(self, image: str, *pods: str) -> list[Json]:
        def change(objects: dict[str, Json]) -> None:
            for name in pods:
                objects[f"Pod/coredns-{name}"]["spec"]["containers"][0]["image"] = image

        return changed(change)

    def test_two_images(self) -> None:
        assert verdicts("D206", facts(self.image("example.org/coredns:v1.13.1", "a"))) == ["warning", "ok"]

    @pytest.mark.parametrize("image", ["example.org/waypost", "example.org:5000/waypost:latest"])
    def test_floating(self, image: str) -> None:
        assert verdicts("D206", facts(self.image(image, *"ab"))) == ["warning", "ok"]

    def test_a_digest_is_fixed(self) -> None:
        assert verdicts("D206", facts(self.image("example.org/waypost@sha256:00", *"ab"))) == ["ok", "ok"]

    @pytest.mark.parametrize(
        ("kubelet", "found"),
        [
            ("v1.36.0", "ok"), ("v1.33.9", "ok"), ("v1.32.9", "warning"), ("v1.37.0", "warning"), ("", "ok"),
            ("v2.0.0", "ok"), ("nonsense", "ok"),
        ],
    )  # fmt: skip
    def test_skew(self, kubelet: str, found: str) -> None:
        def change(objects: dict[str, Json]) -> None:
            objects["Node/node-1"]["status"]["nodeInfo"]["kubeletVersion"] = kubelet

        assert verdicts("D206", facts(changed(change))) == ["ok", found]

    def test_api_server_unknown(self) -> None:
        given = facts(cluster=cluster(changed(), version=Gap("forbidden")))
        assert verdicts("D206", given) == ["ok", "unknown"]
        assert verdicts("D206", facts(cluster=cluster(changed(), version="devel"))) == ["ok", "unknown"]

    @pytest.mark.parametrize(
        ("reference", "parts"),
        [
            ("coredns", ("coredns", "", "")),
            ("registry.k8s.io/coredns/coredns:v1.14.2", ("registry.k8s.io/coredns/coredns", "v1.14.2", "")),
            ("localhost:5000/waypost", ("localhost:5000/waypost", "", "")),
            ("localhost:5000/waypost:1@sha256:ab", ("localhost:5000/waypost", "1", "sha256:ab")),
        ],
    )
    def test_split(self, reference: str, parts: tuple[str, str, str]) -> None:
        assert split_image(reference) == Image(*parts)
