"""`waypost manifests` and `waypost dns-ip` as processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.podside import cases
from support.process import run
from support.validating import by_name, faults
from waypost.cli import dns_ip, manifests

CUSTOM = """\
.:5353 {
    errors
    health :9080 {
        lameduck 20s
    }
    prometheus 0.0.0.0:9100
    kubernetes cluster.local {
        pods verified
        noendpoints
    }
}
tls://.:853 {
    whoami
}
"""


def objects(*words: str, text: str = "") -> dict[tuple[str, str], Any]:
    done = run("manifests", *words, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    found = list(yaml.safe_load_all(done.stdout))
    assert faults(found) == []
    return by_name(found)


def test_kubectl_can_apply_it() -> None:
    found = objects("--image", "registry.example:5000/waypost@sha256:" + 64 * "0", "--replicas", "3")
    assert [kind for kind, _ in found] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
    ]
    spec = found["Deployment", "coredns"]["spec"]
    assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"][:22]) == (3, "registry.example:5000/")


def test_json() -> None:
    done = run("manifests", "-o", "json")
    assert by_name(json.loads(done.stdout)["items"]) == objects()


def test_a_cluster_of_its_own() -> None:
    words = ("--service-cidr", "10.43.0.0/16,fd00:43::/112", "--cluster-domain", "k8s.test.", "--upstream")
    found = objects(*words, "192.0.2.1,192.0.2.2", "--stub-domain", "corp.example=192.0.2.3", "--dual-stack")
    assert found["Service", "kube-dns"]["spec"]["clusterIPs"] == ["10.43.0.10", "fd00:43::a"]
    corefile = found["ConfigMap", "coredns"]["data"]["Corefile"]
    assert "kubernetes k8s.test in-addr.arpa ip6.arpa {" in corefile
    assert "forward . 192.0.2.1 192.0.2.2 {" in corefile
    assert "corp.example:53 {" in corefile
    assert "clusterIPs" not in objects(*words, "192.0.2.1")["Service", "kube-dns"]["spec"]


def test_a_corefile_decides_ports_probes_grace_and_rights(tmp_path: Path) -> None:
    (tmp_path / "Corefile").write_text(CUSTOM)
    for found in (objects("--corefile", str(tmp_path / "Corefile")), objects("--corefile", "-", text=CUSTOM)):
        assert found["ConfigMap", "coredns"]["data"] == {"Corefile": CUSTOM}
        pod = found["Deployment", "coredns"]["spec"]["template"]["spec"]
        container = pod["containers"][0]
        assert pod["terminationGracePeriodSeconds"] == 45
        assert {port["name"]: port["containerPort"] for port in container["ports"]} == {
            "dns": 5353,
            "dns-tcp": 5353,
            "metrics": 9100,
            "liveness-probe": 9080,
        }
        assert "readinessProbe" not in container
        ports = found["Service", "kube-dns"]["spec"]["ports"]
        assert [(port["port"], port["targetPort"]) for port in ports] == [(53, 5353), (53, 5353), (9100, 9100)]
        rules = found["ClusterRole", "system:coredns"]["rules"]
        assert [rule["resources"] for rule in rules] == [["services", "namespaces", "pods"]]


def test_parts() -> None:
    found = objects("--autoscaler", "--node-local", "--cilium", "--service-monitor")
    assert "replicas" not in found["Deployment", "coredns"]["spec"]
    assert {("DaemonSet", "node-local-dns"), ("ServiceMonitor", "coredns")} < set(found)
    assert ("CiliumLocalRedirectPolicy", "node-local-dns") in found
    assert {name for _, name in objects("--no-server", "--node-local")} == {"node-local-dns", "kube-dns-upstream"}
    ipv6 = ("--node-local", "--service-cidr", "fd00:10:96::/112", "--local-ip", "fd00::20:10")
    assert "bind fd00::20:10 fd00:10:96::a" in objects(*ipv6)["ConfigMap", "node-local-dns"]["data"]["Corefile"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--service-cidr", "10.0.0.0/29"], "--service-cidr: unable to get internal Kubernetes Service IP"),
        (["--service-cidr", "10.0.0.0/16", "--dual-stack"], "--dual-stack needs two ranges"),
        (["--service-cidr", "10.0.0.0/16,10.1.0.0/16", "--dual-stack"], "one range of each family"),
        (["--cluster-domain", "Cluster.Local"], "--cluster-domain: expected a domain in lower case"),
        (["--image", "a b"], "--image: expected an image"),
        (["--upstream", "192.0.2.1 {"], "--upstream: expected addresses"),
        (["--upstream", "foo:bar"], "plugin/forward: not an IP address or file"),
        (["--stub-domain", "corp.example"], "--stub-domain: expected ZONE=ADDR[,ADDR]"),
        (["--stub-domain", "corp.example="], "--stub-domain: expected addresses"),
        (["--stub-domain", ".=192.0.2.1"], "--stub-domain"),
        (["--stub-domain", "cluster.local=192.0.2.1"], "is the cluster domain"),
        (["--stub-domain", "a..b=192.0.2.1"], "not a valid domain name"),
        (["--corefile", "gone"], "gone: No such file or directory"),
        (["--corefile", "-"], "no server block serves plain DNS"),
        (["--node-local", "--local-ip", "fd00::1"], "--local-ip: fd00::1 is not of the family"),
        (["--node-local", "--local-ip", "x"], "--local-ip: expected an IP address"),
        (["--chart", "/proc/none"], "/proc/none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_values_that_cannot_be_used(words: list[str], says: str) -> None:
    done = run("manifests", *words, text="tls://.:853 {\n    whoami\n}\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert done.stderr.startswith("waypost: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--cilium"],
        ["--local-ip", "169.254.20.10"],
        ["--no-server"],
        ["--corefile", "-", "--upstream", "192.0.2.1"],
        ["--replicas", "-1"],
        ["--replicas", "two"],
        ["--chart", "x", "--replicas", "3"],
        ["--node-local", "--ipvs", "--cilium"],
    ],
    ids=" ".join,
)
def test_wrong_usage(words: list[str]) -> None:
    done = run("manifests", *words)
    assert (done.returncode, done.stdout) == (2, "")


def test_folders(tmp_path: Path) -> None:
    for words in (["--kustomize", "deploy"], ["--chart", "charts/waypost"]):
        done = run("manifests", *words, "--image", "registry.example/waypost:7", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "")
    assert "image: registry.example/waypost:7" in (tmp_path / "deploy/base/deployment.yaml").read_text()
    assert "repository: registry.example/waypost\n" in (tmp_path / "charts/waypost/values.yaml").read_text()


@pytest.mark.parametrize("case", cases("dnsip"))
def test_dns_ip(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    expected = case["expect"]
    code = dns_ip.main([case["service_subnet"]])
    output = capsys.readouterr()
    if "error" in expected:
        assert (code, output.out, output.err) == (1, "", f"waypost: {expected['error']}\n")
    else:
        assert (code, output.out, output.err) == (0, f"{expected['dns_ip']}\n", "")
    assert dns_ip.main([case["service_subnet"], "-o", "json"]) == code
    assert json.loads(capsys.readouterr().out) == expected


def test_dns_ip_is_a_command() -> None:
    done = run("dns-ip", "192.168.10.0/24,fd03::/112")
    assert (done.returncode, done.stdout, done.stderr) == (0, "192.168.10.10\n", "")


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (manifests, dns_ip):
        with pytest.raises(SystemExit):
            command.main(["--help"])
        assert "examples:\n  waypost " in capsys.readouterr().out
