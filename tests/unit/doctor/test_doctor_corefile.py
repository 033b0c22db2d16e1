"""The Corefile of a ConfigMap, set up with the files beside it."""

from __future__ import annotations

import pytest

from support.dnscluster import COREFILE
from waypost.diagnosis.facts import Configuration, NodeText
from waypost.diagnosis.finding import Gap
from waypost.diagnosis.mounts import Mounted
from waypost.diagnosis.objects import ConfigMap
from waypost.diagnosis.workloads import Meta
from waypost.doctor.corefile import examine

MAP = ConfigMap(Meta("coredns", "kube-system"))
UNKNOWN = Gap("unknown")
PATH = "/etc/coredns/Corefile"


def mounts(corefile: str, env: dict[str, str] | None = None, **files: str) -> Mounted:
    texts = {PATH: corefile} | {f"/etc/coredns/{name.replace('__', '/')}": text for name, text in files.items()}
    return Mounted(PATH, texts, dict.fromkeys(texts, MAP), env or {})


def examined(given: Mounted, resolv_conf: NodeText | Gap = UNKNOWN) -> Configuration:
    found = examine(given, resolv_conf)
    assert isinstance(found, Configuration)
    return found


def test_kubeadms() -> None:
    found = examined(mounts(COREFILE))
    assert (found.errors, [each for each in found.advice if each.grave]) == ((), [])
    assert found.zones == {"cluster.local", "in-addr.arpa", "ip6.arpa"}
    assert found.upstreams == ("/etc/resolv.conf",)
    assert {"kubernetes", "reload", "loop"} <= found.directives
    assert found.source == "ConfigMap kube-system/coredns"


def test_zones_of_the_block() -> None:
    assert examined(mounts("Cluster.Local {\n    kubernetes\n}\n")).zones == {"cluster.local"}


@pytest.mark.parametrize(
    ("corefile", "error"),
    [
        (".:53 {\n    nonsense\n}\n", "/etc/coredns/Corefile:2: "),
        (".:53 {\n    cache {\n        bogus\n    }\n}\n", "plugin/cache"),
        (".:53 {", "Corefile:1"),
        ("# nothing\n", "/etc/coredns/Corefile: no server block"),
    ],
)
def test_not_accepted(corefile: str, error: str) -> None:
    assert error in examined(mounts(corefile)).errors[0]


def test_an_import_that_no_config_map_holds() -> None:
    found = examine(mounts(".:53 {\n    import gone/x\n}\n"), UNKNOWN)
    assert isinstance(found, Gap)
    assert "File to import not found: gone/x" in found.reason


class TestFiles:
    def test_import_from_another_config_map(self) -> None:
        corefile = ".:53 {\n    import custom/*.override\n}\nimport custom/*.server\n"
        files = {
            "custom__a.override": "forward . 192.0.2.1\n",
            "custom__b.server": "b.example {\n    forward . 192.0.2.2\n}\n",
        }
        assert examined(mounts(corefile, **files)).upstreams == ("192.0.2.1", "192.0.2.2")

    @pytest.mark.parametrize("directive", ["hosts /etc/coredns/NodeHosts", "tls /etc/tls/tls.crt /etc/tls/tls.key"])
    def test_files_that_are_in_the_pod_only(self, directive: str) -> None:
        assert examined(mounts(f"tls://. {{\n    {directive}\n}}\n")).errors == ()

    def test_the_pods_resolv_conf(self) -> None:
        loopback = NodeText("/etc/resolv.conf", b"nameserver 127.0.0.53\n")
        grave = [each for each in examined(mounts(COREFILE), loopback).advice if each.grave]
        assert any("127.0.0.53" in each.text and each.place == "/etc/coredns/Corefile:13" for each in grave)
        assert all(each.code and each.remedy for each in grave)

    def test_environment(self) -> None:
        found = examined(mounts(".:53 {\n    forward . {$UPSTREAM}\n}\n", {"UPSTREAM": "192.0.2.9"}))
        assert found.upstreams == ("192.0.2.9",)
