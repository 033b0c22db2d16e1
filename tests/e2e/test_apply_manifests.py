"""What `waypost manifests` prints, applied to a real API server, and the autoscaler at work on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.envtest import ControlPlane, missing
from support.process import ServerProcess, run
from support.scaleapi import api_node

KUBECTL = shutil.which("kubectl") or ""
UNABLE = missing(os.environ) or ("" if KUBECTL else "no kubectl on the PATH")
pytestmark = [pytest.mark.skipif(bool(UNABLE), reason=UNABLE), pytest.mark.timeout(240)]
PARTS = ("--autoscaler", "--node-local", "--service-cidr", "10.96.0.0/16")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(Path(os.environ["KUBEBUILDER_ASSETS"]), tmp_path_factory.mktemp("plane")) as plane:
        yield plane


def kubectl(plane: ControlPlane, *words: str, text: str = "") -> str:
    command = [KUBECTL, f"--kubeconfig={plane.kubeconfig}", *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def replicas(plane: ControlPlane) -> int:
    words = ("-n", "kube-system", "get", "deployment", "coredns", "-o", "jsonpath={.spec.replicas}")
    return int(kubectl(plane, *words))


def test_apply_and_apply_again(plane: ControlPlane) -> None:
    text = run("manifests", *PARTS).stdout
    first = kubectl(plane, "apply", "--validate=strict", "-f", "-", text=text).splitlines()
    assert {line.rpartition(" ")[2] for line in first} == {"created"}
    again = kubectl(plane, "apply", "--validate=strict", "-f", "-", text=text).splitlines()
    assert {line.rpartition(" ")[2] for line in again} == {"unchanged"}
    service: Any = json.loads(kubectl(plane, "-n", "kube-system", "get", "service", "kube-dns", "-o", "json"))
    assert service["spec"]["clusterIPs"] == ["10.96.0.10"]


@pytest.mark.parametrize(
    ("account", "may", "may_not"),
    [
        ("coredns", ["list endpointslices.discovery.k8s.io", "watch services"], ["list pods", "get secrets"]),
        ("kube-dns-autoscaler", ["watch nodes", "patch deployments/scale"], ["patch deployments", "list configmaps"]),
    ],
)
def test_rights(plane: ControlPlane, account: str, may: list[str], may_not: list[str]) -> None:
    kubectl(plane, "apply", "-f", "-", text=run("manifests", *PARTS).stdout)
    for words, answer in [*((each, "yes") for each in may), *((each, "no") for each in may_not)]:
        verb, kind = words.split()
        kind = f"{kind.partition('/')[0]}/coredns --subresource=scale" if "/scale" in kind else kind
        user = f"--as=system:serviceaccount:kube-system:{account}"
        command = [KUBECTL, f"--kubeconfig={plane.kubeconfig}", "auth", "can-i", verb, *kind.split(), user]
        done = subprocess.run([*command, "-n", "kube-system"], capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.strip() == answer, words


def test_the_autoscaler(plane: ControlPlane) -> None:
    kubectl(plane, "apply", "-f", "-", text=run("manifests", *PARTS).stdout)
    for number in range(40):
        node = {"apiVersion": "v1", **api_node(f"node-{number}")}
        kubectl(plane, "apply", "-f", "-", text=json.dumps(node))
    words = ["autoscale", "--namespace=kube-system", "--configmap=kube-dns-autoscaler", "--target=deployment/coredns"]
    more = [f"--kubeconfig={plane.kubeconfig}", "--listen-address=", "--leader-elect"]
    with ServerProcess([*words, *more]) as process:
        process.says("scaled from 1 to 3 replicas")
        assert process.stop() == 0
    assert replicas(plane) == 3
    assert "Scaled from 1 to 3" in kubectl(plane, "-n", "kube-system", "get", "events")
