"""Objects and logs from a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.dnscluster import objects
from waypost.diagnosis.facts import Cluster
from waypost.diagnosis.finding import Gap, Unknown
from waypost.diagnosis.objects import ConfigMap, NetworkPolicy, Node
from waypost.diagnosis.workloads import Pod
from waypost.doctor.dump import read_folder, read_logs
from waypost.doctor.resources import RESOURCES
from waypost.manifests.model import Service

SERVICE = ("kube-system", "kube-dns")


def read(folder: Path) -> Cluster:
    return read_folder(str(folder), RESOURCES, SERVICE, ("", ""))


def listed(kind: str) -> dict[str, Any]:
    items = [each for each in objects().values() if each["kind"] == kind]
    return {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}


def test_one_file_for_each_object(tmp_path: Path) -> None:
    for number, each in enumerate(objects().values()):
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump(each))
    found = read(tmp_path)
    assert len(found.dns_pods()) == 2
    assert found.problems == []


def test_lists_as_kubectl_gives_them(tmp_path: Path) -> None:
    (tmp_path / "everything.yaml").write_text(yaml.safe_dump_all([listed("Pod"), listed("Service")]))
    (tmp_path / "nodes.json").write_text(json.dumps(listed("Node")))
    found = read(tmp_path)
    assert (len(found.all(Pod)), len(found.all(Service)), len(found.all(Node))) == (3, 1, 2)


def test_the_folders_of_cluster_info_dump(tmp_path: Path) -> None:
    folder = tmp_path / "kube-system"
    folder.mkdir()
    items = [
        {k: v for k, v in each.items() if k not in ("kind", "apiVersion")}
        for each in objects().values()
        if each["kind"] == "Pod"
    ]
    (folder / "pods.json").write_text(json.dumps({"kind": "PodList", "apiVersion": "v1", "items": items}))
    assert len(read(tmp_path).all(Pod)) == 3


class TestAbsence:
    def test_a_kind_that_is_in_no_file_is_not_known_to_be_empty(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text(yaml.safe_dump(listed("Pod")))
        with pytest.raises(Unknown, match=r"an empty list in networkpolicies\.yaml says so"):
            read(tmp_path).all(NetworkPolicy)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("networkpolicies.yaml", {"kind": "List", "apiVersion": "v1", "items": []}),
            ("x.json", {"kind": "NetworkPolicyList", "apiVersion": "networking.k8s.io/v1", "items": []}),
        ],
    )
    def test_an_empty_list_is(self, tmp_path: Path, name: str, value: dict[str, Any]) -> None:
        (tmp_path / name).write_text(json.dumps(value))
        assert read(tmp_path).all(NetworkPolicy) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            b"kind: Service\napiVersion: v1\nmetadata: {name: x}\nspec: {ports: 7}\n",
            "spec.ports: expected a list, got 7",
        ),
        (b"a: [\n", "line 1"),
        (b"\xff\xfe", "not UTF-8"),
        (b"- 1\n", "expected a Kubernetes object"),
    ],
)
def test_what_cannot_be_read_is_a_problem(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "bad.yaml").write_bytes(content)
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(objects()["ConfigMap/coredns"]))
    found = read(tmp_path)
    assert len(found.all(ConfigMap)) == 1
    [text] = found.problems
    assert problem in text
    assert "bad.yaml" in text


def test_kinds_that_no_check_looks_at(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Secret\napiVersion: v1\nmetadata: {name: s}\n---\nkind: X\napiVersion: 7\n")
    assert read(tmp_path).problems == []


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "neither a file nor a folder" in read(tmp_path).problems[0]


def test_version(tmp_path: Path) -> None:
    assert isinstance(read(tmp_path).version, Gap)
    (tmp_path / "version.yaml").write_text(
        "clientVersion: {gitVersion: v1.35.0}\nserverVersion: {gitVersion: v1.36.1}\n"
    )
    assert read(tmp_path).version == "v1.36.1"
    assert read(tmp_path).problems == []


def test_logs(tmp_path: Path) -> None:
    (tmp_path / "coredns-a").mkdir()
    for name in ("coredns-a/logs.txt", "coredns-b.log", "coredns-b-previous.log", "other.log", "coredns-b.yaml"):
        (tmp_path / name).write_text(name)
    os.mkfifo(tmp_path / "coredns-a.log")
    found = read_logs(str(tmp_path), ["coredns-a", "coredns-b"])
    assert {text for text in found.values() if text} == {
        "coredns-a/logs.txt",
        "coredns-b.log",
        "coredns-b-previous.log",
    }
