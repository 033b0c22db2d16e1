"""Pods and kubelet configurations read from decoded manifests."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.podside.objects import ObjectError, read_kubelet, read_pod
from waypost.podside.policy import DnsConfig, DnsOption, Kubelet

SPEC = {
    "dnsPolicy": "None",
    "hostNetwork": True,
    "dnsConfig": {"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}]},
}


def read(value: Any) -> Any:
    return read_pod(value, "default")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"kind": "Pod", "spec": SPEC}, "spec"),
        ({"spec": SPEC}, "spec"),
        ({"kind": "Deployment", "spec": {"template": {"spec": SPEC}}}, "spec.template.spec"),
        ({"kind": "Rollout", "spec": {"template": {"spec": SPEC}}}, "spec.template.spec"),
        ({"kind": "PodTemplate", "template": {"spec": SPEC}}, "template.spec"),
        (
            {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": SPEC}}}}},
            "spec.jobTemplate.spec.template.spec",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_place_of_the_spec(value: dict[str, Any], path: str) -> None:
    pod = read({**value, "metadata": {"name": "web", "namespace": "shop", "uid": "1"}})
    assert pod.path == path
    assert (pod.dns.name, pod.dns.namespace, pod.dns.uid) == ("web", "shop", "1")
    assert (pod.dns.dns_policy, pod.dns.host_network) == ("None", True)
    assert pod.dns.dns_config == DnsConfig(("1.1.1.1",), (), (DnsOption("ndots", "2"), DnsOption("edns0")))


@pytest.mark.parametrize("kind", ["Service", "ConfigMap"])
def test_no_pod(kind: str) -> None:
    assert read({"kind": kind, "spec": {"selector": {}}}) is None


def test_namespace_given() -> None:
    assert read_pod({"kind": "Pod", "spec": {}}, "shop").dns.namespace == "shop"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"dnsPolicy": 1}, "spec.dnsPolicy: expected a string, got 1 (put it in quotes)"),
        ({"hostNetwork": "yes"}, "spec.hostNetwork: expected true or false, got 'yes'"),
        ({"dnsConfig": []}, "spec.dnsConfig: expected an object, got a list"),
        ({"dnsConfig": {"nameserver": []}}, "spec.dnsConfig.nameserver: unknown field"),
        ({"dnsConfig": {"searches": "a"}}, "spec.dnsConfig.searches: expected a list, got 'a'"),
        ({"dnsConfig": {"searches": [None]}}, "spec.dnsConfig.searches[0]: expected a string, got nothing"),
        (
            {"dnsConfig": {"options": [{"name": "ndots", "value": 2}]}},
            "spec.dnsConfig.options[0].value: expected a string",
        ),
        ({"dnsConfig": {"options": ["ndots:2"]}}, "spec.dnsConfig.options[0]: expected an object, got 'ndots:2'"),
        ({"containers": [{"env": {}}]}, "spec.containers[0].env: expected a list, got an object"),
    ],
)
def test_faults(spec: Any, text: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read({"kind": "Pod", "spec": spec})
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_no_object(value: Any) -> None:
    with pytest.raises(ObjectError, match="expected an object"):
        read(value)


@pytest.mark.parametrize(
    ("spec", "hostname"),
    [
        ({}, "web-0"),
        ({"hostname": "a", "subdomain": "db"}, "a"),
        ({"subdomain": "db", "setHostnameAsFQDN": True}, "web-0.db.shop.svc.cluster.local"),
    ],
)
def test_hostname(spec: dict[str, Any], hostname: str) -> None:
    pod = read({"kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop"}, "spec": spec})
    assert pod.kernel_hostname("cluster.local") == hostname


def test_environment() -> None:
    env = [{"name": "RES_OPTIONS", "value": "ndots:1"}, {"name": "PATH", "value": "/bin"}, {"name": "LOCALDOMAIN"}]
    pod = read({"kind": "Pod", "spec": {"containers": [{"env": env}]}})
    assert dict(pod.env) == {"RES_OPTIONS": "ndots:1", "LOCALDOMAIN": ""}


@pytest.mark.parametrize(
    ("value", "kubelet"),
    [
        ({}, Kubelet((), "", "/etc/resolv.conf")),
        ({"resolvConf": ""}, Kubelet((), "", "")),
        (
            {
                "kind": "KubeletConfiguration",
                "clusterDNS": ["10.96.0.10"],
                "clusterDomain": "a",
                "resolvConf": "/run/r",
            },
            Kubelet(("10.96.0.10",), "a", "/run/r"),
        ),
    ],
)
def test_kubelet(value: Any, kubelet: Kubelet) -> None:
    assert read_kubelet(value, "/etc/resolv.conf") == kubelet


def test_no_kubelet() -> None:
    assert read_kubelet({"kind": "ClusterConfiguration", "clusterDNS": 1}, "") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"clusterDNS": "10.96.0.10"}, "clusterDNS: expected a list"),
        ([], "expected an object"),
    ],
)
def test_kubelet_faults(value: Any, text: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read_kubelet(value, "")
    assert str(caught.value).startswith(text)
