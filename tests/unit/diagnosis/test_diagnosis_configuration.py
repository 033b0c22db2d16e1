"""The Corefile of the DNS pods: where it is, whether it is accepted, whether it is the one in use; the upstreams."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from support.dnscluster import (
    COREFILE,
    EARLIER,
    Json,
    changed,
    cluster,
    configuration,
    facts,
    findings,
    verdicts,
)
from waypost.diagnosis.facts import Advice, Probe, Probes
from waypost.diagnosis.finding import Gap, Unknown
from waypost.diagnosis.mounts import mounted

LATER = "2026-01-08T00:00:00Z"


@pytest.mark.parametrize("code", ["D100", "D301", "D302", "D303", "D304"])
def test_healthy(code: str) -> None:
    assert set(verdicts(code, facts())) == {"ok"}


class TestCorefile:
    def test_not_accepted(self) -> None:
        found = findings("D301", facts(configuration=configuration(errors=("Corefile:3: a", "Corefile:9: b"))))
        assert [(each.verdict, each.evidence) for each in found] == [
            ("failure", ("ConfigMap kube-system/coredns: Corefile:3: a",)),
            ("failure", ("ConfigMap kube-system/coredns: Corefile:9: b",)),
        ]

    def test_advice(self) -> None:
        advice = (Advice("W001", "Corefile:9", "a", "b", True), Advice("W002", "Corefile:10", "c", "d", False))
        found = findings("D302", facts(configuration=configuration(advice=advice)))
        assert [(each.verdict, each.summary) for each in found] == [("warning", "W001: a"), ("ok", "W002: c")]

    def test_no_corefile(self) -> None:
        given = facts(configuration=Gap("no Corefile"))
        assert verdicts("D301", given) == verdicts("D302", given) == ["unknown"]


class TestMounts:
    def config_map(self, **data: str) -> list[Json]:
        return changed(lambda objects: objects["ConfigMap/coredns"].update(data=data))

    def test_kubeadm(self) -> None:
        found = mounted(cluster(changed()))
        assert (found.corefile, found.source) == ("/etc/coredns/Corefile", "ConfigMap kube-system/coredns")
        assert found.files == {"/etc/coredns/Corefile": COREFILE}

    def test_items_choose_keys(self) -> None:
        assert set(mounted(cluster(self.config_map(Corefile="x", other="y"))).files) == {"/etc/coredns/Corefile"}

    def specs(self, objects: dict[str, Json]) -> list[Json]:
        template = objects["Deployment/coredns"]["spec"]["template"]["spec"]
        return [template, *(objects[f"Pod/coredns-{name}"]["spec"] for name in "ab")]

    def test_two_volumes_and_a_folder(self) -> None:
        def custom(objects: dict[str, Json]) -> None:
            extra = {**objects["ConfigMap/coredns"], "data": {"x.server": "x:53 {\n}\n"}}
            objects["ConfigMap/coredns-custom"] = {
                **extra,
                "metadata": {"name": "coredns-custom", "namespace": "kube-system"},
            }
            for spec in self.specs(objects):
                spec["volumes"].append(
                    {"name": "custom", "projected": {"sources": [{"configMap": {"name": "coredns-custom"}}]}}
                )
                mounts = spec["containers"][0]["volumeMounts"]
                mounts.append({"name": "custom", "mountPath": "/etc/coredns/custom/"})

        assert set(mounted(cluster(changed(custom))).files) == {"/etc/coredns/Corefile", "/etc/coredns/custom/x.server"}

    def test_sub_path_and_another_name(self) -> None:
        def moved(objects: dict[str, Json]) -> None:
            for spec in self.specs(objects):
                spec["containers"][0]["args"] = ["-conf=/config"]
                spec["containers"][0]["volumeMounts"][0].update(mountPath="/config", subPath="Corefile")

        assert mounted(cluster(changed(moved))).corefile == "/config"

    @pytest.mark.parametrize("path", ["../../up", "/a/../../up"])
    def test_no_path_leads_out(self, path: str) -> None:
        def outside(objects: dict[str, Json]) -> None:
            for spec in self.specs(objects):
                del spec["containers"][0]["args"]
                spec["containers"][0]["volumeMounts"][0]["mountPath"] = path

        assert mounted(cluster(changed(outside))).corefile == "/up/Corefile"

    def test_without_a_pod_that_mounts_it(self) -> None:
        def bare(objects: dict[str, Json]) -> None:
            for spec in self.specs(objects):
                spec["volumes"] = []

        assert mounted(cluster(changed(bare))).corefile == "/etc/coredns/Corefile"

    @pytest.mark.parametrize("data", [{}, {"Other": "x"}])
    def test_no_corefile(self, data: dict[str, str]) -> None:
        with pytest.raises(Unknown, match="no Corefile"):
            mounted(cluster(self.config_map(**data)))


class TestFreshness:
    def edited(self, time: str = LATER, fields: str = "f:data") -> list[Json]:
        entry = {"time": time, "fieldsV1": {fields: {"f:Corefile": {}}}}
        return changed(lambda objects: objects["ConfigMap/coredns"]["metadata"].update(managedFields=[entry]))

    def test_an_edit_with_reload(self) -> None:
        [found] = findings("D303", facts(self.edited()))
        assert found.verdict == "ok"
        assert "reload has taken it up" in found.summary

    def test_an_edit_without_reload(self) -> None:
        given = facts(self.edited(), configuration=configuration(directives=frozenset(("forward",))))
        [found] = findings("D303", given)
        assert found.verdict == "failure"
        assert found.evidence[0] == "ConfigMap kube-system/coredns: changed 2026-01-08T00:00:00+00:00"
        assert len(found.evidence) == 3

    def test_just_now(self) -> None:
        changed_at = datetime(2026, 1, 8, tzinfo=UTC)
        [found] = findings("D303", facts(self.edited(), now=changed_at + timedelta(seconds=20)))
        assert "just now" in found.summary

    def test_an_edit_of_labels_is_none(self) -> None:
        assert "started after" in findings("D303", facts(self.edited(fields="f:metadata")))[0].summary

    def test_a_refused_reload(self) -> None:
        line = "[ERROR] plugin/reload: Corefile changed but reload failed: starting with listener file descriptors: x"
        [found] = findings("D303", facts(logs={("coredns-a", "coredns"): f"[INFO] fine\n{line}\n"}))
        assert (found.verdict, found.evidence) == (
            "failure",
            (f"log of Pod kube-system/coredns-a [coredns]: {line}",),
        )

    @pytest.mark.parametrize("time", ["", "yesterday", "2026-01-08"])
    def test_times_that_are_none(self, time: str) -> None:
        def undated(objects: dict[str, Json]) -> None:
            objects["ConfigMap/coredns"]["metadata"].update(creationTimestamp=time)

        assert verdicts("D303", facts(changed(undated))) == ["unknown"]

    def test_a_corefile_that_is_not_accepted(self) -> None:
        given = facts(self.edited(), configuration=configuration(errors=("bad",)))
        assert verdicts("D303", given) == ["unknown"]

    def test_a_pod_made_after_the_edit(self) -> None:
        assert "started after" in findings("D303", facts(self.edited(EARLIER)))[0].summary


class TestUpstreams:
    def judged(self, *probes: Probe, unasked: tuple[str, ...] = ()) -> list[Any]:
        return findings("D304", facts(upstreams=Probes(probes, unasked)))

    @pytest.mark.parametrize(
        ("udp", "tcp", "verdict"),
        [
            ("", "", "ok"), ("no answer", "", "warning"), ("", "connection refused", "warning"),
            ("no answer", "connection refused", "failure"),
        ],
    )  # fmt: skip
    def test_transports(self, udp: str, tcp: str, verdict: str) -> None:
        probes = (
            Probe("192.0.2.1:53", "UDP", 0.01, "NOERROR" if not udp else "", udp),
            Probe("192.0.2.1:53", "TCP", 0.01, "REFUSED" if not tcp else "", tcp),
        )
        assert [found.verdict for found in self.judged(*probes)] == [verdict]

    def test_slow(self) -> None:
        [found] = self.judged(Probe("192.0.2.1:53", "UDP", 1.5, "NOERROR"))
        assert (found.verdict, found.evidence) == ("warning", ("UDP: NOERROR after 1500 ms",))

    def test_each_address(self) -> None:
        probes = [Probe(f"192.0.2.{last}:53", "UDP", 0.1, "NOERROR") for last in (1, 2)]
        assert len(self.judged(*probes)) == 2

    def test_not_asked(self) -> None:
        [found] = self.judged(unasked=("/etc/resolv.conf of the DNS pods is not at hand",))
        assert found.verdict == "unknown"

    def test_none(self) -> None:
        assert self.judged()[0].verdict == "ok"


class TestCoverage:
    def test_some_kinds_missing(self) -> None:
        given = cluster(changed())
        held = {kind: Gap("forbidden") if kind.__name__ == "Node" else found for kind, found in given.objects.items()}
        [found] = findings("D100", facts(cluster=cluster([]).__class__(held)))
        assert (found.verdict, found.evidence) == ("unknown", ("Node: forbidden",))

    def test_nothing_read(self) -> None:
        given = cluster(changed())
        held = dict.fromkeys(given.objects, Gap("dial tcp: refused"))
        assert verdicts("D100", facts(cluster=given.__class__(held))) == ["failure"]

    def test_problems(self) -> None:
        [found] = findings("D100", facts(cluster=cluster(changed(), problems=[f"a.yaml: {n}" for n in range(7)])))
        assert (found.verdict, found.evidence[-1]) == ("warning", "and 2 more")
