"""Cases of the pod's side, recorded from the kubelet, the API server, kubeadm and the resolvers themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.tree import ROOT
from waypost.podside.nodefile import NodeFile
from waypost.podside.policy import DnsConfig, DnsOption, Kubelet, PodDns
from waypost.podside.replies import UNREACHABLE, Reply, Zone, read_zone

CLOSED = "10.96.0.99"
"""Where nobody listens in the recorded cases."""


def cases(name: str) -> list[Any]:
    """The cases of a file as parameters of a test."""
    text = (ROOT / f"tests/data/podside/{name}.json").read_text(encoding="utf-8")
    return [pytest.param(case, id=case["id"]) for case in json.loads(text)]


def pod_of(case: dict[str, Any]) -> PodDns:
    """The pod of a case."""
    pod = case["pod"]
    config = pod["dnsConfig"]
    if config is not None:
        options = tuple(DnsOption(each.get("name", ""), each.get("value")) for each in config.get("options", ()))
        config = DnsConfig(tuple(config.get("nameservers", ())), tuple(config.get("searches", ())), options)
    return PodDns(
        pod["name"], pod["namespace"], pod.get("uid", ""), pod["dnsPolicy"] or "", bool(pod["hostNetwork"]), config
    )


def kubelet_of(case: dict[str, Any]) -> Kubelet:
    """The kubelet of a case."""
    kubelet = case["kubelet"]
    cluster_dns, node_ips = tuple(kubelet["clusterDNS"]), tuple(kubelet["nodeIPs"])
    return Kubelet(cluster_dns, kubelet["clusterDomain"], kubelet["resolvConf"], node_ips)


def node_file_of(case: dict[str, Any]) -> NodeFile:
    """The node's file of a case."""
    text = case["node_resolv_conf"]
    return NodeFile(fault="no such file or directory") if text is None else NodeFile(text.encode())


def zone_of(case: dict[str, Any]) -> Zone:
    """The servers of a case."""
    zone = read_zone(case["zone"])
    return Zone({**zone.replies, f"@{CLOSED}": (Reply(UNREACHABLE),)})
