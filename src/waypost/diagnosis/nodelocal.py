"""Node-local DNS (the node-cache DaemonSet): whether it is there whole, and in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from waypost.diagnosis.facts import Cluster, Facts
from waypost.diagnosis.finding import Outcome, Unknown, failure, ok, warning
from waypost.diagnosis.flags import option
from waypost.diagnosis.kubelets import told_kubelets
from waypost.diagnosis.objects import ConfigMap
from waypost.diagnosis.ports import cluster_ips
from waypost.diagnosis.workloads import Container, DaemonSet
from waypost.manifests.model import Service

NAME: Final = "node-local-dns"
_IMAGE: Final = "node-cache"
_PLACEHOLDER = re.compile(r"__PILLAR__[A-Z_]+__")
_FILLED_IN_LATER: Final = frozenset(("__PILLAR__CLUSTER__DNS__", "__PILLAR__UPSTREAM__SERVERS__"))
"""What the cache itself replaces when it starts."""
_REMEDY: Final = "install node-local DNS again from its manifest, with every placeholder replaced"


def local_addresses(cluster: Cluster) -> list[str]:
    """The addresses that caches listen on, none without a DaemonSet. Raises Unknown."""
    found = (option(container, "localip") or "" for _, container in _caches(cluster))
    return list(dict.fromkeys(text for each in found for text in each.split(",") if _is_address(text)))


def judge(facts: Facts) -> Iterator[Outcome]:
    """The DaemonSet, its arguments, its ConfigMap, the Service of its upstreams, and who asks it."""
    cluster = facts.objects()
    caches = _caches(cluster)
    if not caches:
        yield from _absent(cluster)
    for daemon_set, container in caches:
        outcomes = [
            *_ready(daemon_set),
            *_arguments(cluster, daemon_set, container),
            *_corefile(cluster),
            *_in_use(facts, daemon_set),
        ]
        listens = ", ".join(local_addresses(cluster))
        yield from outcomes or [ok(f"node-local DNS listens on {listens} of every node", _named(daemon_set))]


def _caches(cluster: Cluster) -> list[tuple[DaemonSet, Container]]:
    return [
        (each, container)
        for each in cluster.here(DaemonSet)
        for container in each.spec.template.spec.containers
        if _IMAGE in container.image or (each.metadata.name == NAME and option(container, "localip") is not None)
    ]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _named(daemon_set: DaemonSet) -> str:
    return f"DaemonSet {daemon_set.metadata.namespace}/{daemon_set.metadata.name}"


def _absent(cluster: Cluster) -> Iterator[Outcome]:
    if any(each.metadata.name == NAME for each in cluster.here(ConfigMap)):
        yield warning(
            "node-local DNS is half installed: its ConfigMap is there and no DaemonSet",
            f"ConfigMap {cluster.namespace}/{NAME}",
            remedy="install the DaemonSet, or remove the ConfigMap",
        )
    else:
        yield ok("no node-local DNS is installed")


def _ready(daemon_set: DaemonSet) -> Iterator[Outcome]:
    status = daemon_set.status
    if status.number_ready < status.desired_number_scheduled:
        missing = status.desired_number_scheduled - status.number_ready
        yield failure(
            f"node-local DNS is not ready on {missing} of {status.desired_number_scheduled} nodes",
            f"{_named(daemon_set)}.status.numberReady: {status.number_ready}",
            remedy="look at its pods there: where it was killed, its addresses and rules remain and nobody answers",
        )


def _arguments(cluster: Cluster, daemon_set: DaemonSet, container: Container) -> Iterator[Outcome]:
    place = f"{_named(daemon_set)}.spec.template.spec.containers[{container.name}].args"
    text = option(container, "localip") or ""
    if not text or not all(map(_is_address, text.split(","))):
        yield failure(
            "node-local DNS cannot start: -localip takes addresses with commas between them",
            f"{place}: -localip {text}",
            remedy=_REMEDY,
        )
    upstream = option(container, "upstreamsvc") or "kube-dns"
    if not any(each.metadata.name == upstream for each in cluster.here(Service)):
        yield failure(
            f"node-local DNS has nobody to ask: there is no Service {cluster.namespace}/{upstream}",
            f"{place}: -upstreamsvc {upstream}",
            remedy=f"make the Service {upstream} with the selector of the DNS Service, then restart the DaemonSet",
        )


def _corefile(cluster: Cluster) -> Iterator[Outcome]:
    texts = [each.data for each in cluster.here(ConfigMap) if each.metadata.name == NAME]
    if not texts:
        yield failure(
            "node-local DNS has no configuration",
            f"ConfigMap {cluster.namespace}/{NAME}: not there",
            remedy=_REMEDY,
        )
        return
    left = {match for text in texts[0].values() for match in _PLACEHOLDER.findall(text)} - _FILLED_IN_LATER
    for placeholder in sorted(left):
        yield failure(
            f"the configuration of node-local DNS still has {placeholder}",
            f"ConfigMap {cluster.namespace}/{NAME}.data: {placeholder}",
            remedy=_REMEDY,
        )


def _in_use(facts: Facts, daemon_set: DaemonSet) -> Iterator[Outcome]:
    """Either it takes the packets to the Service's address, or kubelets hand out its own."""
    cluster = facts.objects()
    listens = set(local_addresses(cluster))
    if listens & set(cluster_ips(cluster.dns_service())):
        return
    try:
        told = told_kubelets(facts)
    except Unknown:
        return
    if listens.isdisjoint(address for each in told for address in each.kubelet.cluster_dns):
        yield warning(
            "node-local DNS runs and no pod asks it",
            f"{_named(daemon_set)}: -localip {','.join(sorted(listens))}",
            *(f"{each.source}: clusterDNS: {', '.join(each.kubelet.cluster_dns)}" for each in told),
            remedy="add the Service's clusterIP to -localip (kube-proxy in iptables mode), or give kubelets the local"
            " address as clusterDNS (IPVS mode)",
        )
