"""Whom pods are told to ask, and in which domain, against what there is."""

from __future__ import annotations

from collections.abc import Iterator

from waypost.diagnosis.facts import Cluster, Facts, NodeText
from waypost.diagnosis.finding import Gap, Outcome, Unknown, failure, ok, unknown, warning
from waypost.diagnosis.kubelets import Told, told_kubelets
from waypost.diagnosis.nodelocal import local_addresses
from waypost.diagnosis.ports import cluster_ips
from waypost.podside.addresses import parse_lenient
from waypost.podside.nodefile import NodeFileError, parse


def judge(facts: Facts) -> Iterator[Outcome]:
    """clusterDNS has to be the Service's address, or that of the node-local cache; clusterDomain a zone served."""
    cluster = facts.objects()
    right = [*cluster_ips(cluster.dns_service()), *_cache_addresses(cluster)]
    own = facts.own_resolv_conf
    if not isinstance(own, Gap):
        yield _own(own, right)
    try:
        told = told_kubelets(facts)
    except Unknown:
        if isinstance(own, Gap):
            raise
        return
    for each in told:
        yield _cluster_dns(each, right)
        yield from _cluster_domain(each, facts)


def _cache_addresses(cluster: Cluster) -> list[str]:
    try:
        return local_addresses(cluster)
    except Unknown:
        return []


def _canonical(text: str) -> str:
    address = parse_lenient(text)
    return text if address is None else str(address)


def _cluster_dns(told: Told, right: list[str]) -> Outcome:
    field = f"{told.source}: clusterDNS: {', '.join(told.kubelet.cluster_dns) or '(none)'}"
    remedy = "set clusterDNS to the Service's clusterIP, restart the kubelets, and make the pods anew"
    if not told.kubelet.cluster_dns:
        return failure("kubelets know no cluster DNS: pods get the node's resolvers", field, remedy=remedy)
    wrong = [text for text in told.kubelet.cluster_dns if _canonical(text) not in right]
    if wrong:
        return failure(
            f"kubelets give pods {', '.join(wrong)}, which is not where DNS is",
            field,
            f"the DNS Service has {', '.join(right) or 'no address'}",
            remedy=remedy,
        )
    return ok("kubelets give pods the address of the DNS Service", field)


def _cluster_domain(told: Told, facts: Facts) -> Iterator[Outcome]:
    if isinstance(facts.configuration, Gap) or not facts.configuration.zones:
        return
    domain = told.kubelet.cluster_domain.rstrip(".")
    field = f"{told.source}: clusterDomain: {told.kubelet.cluster_domain or '(none)'}"
    served = ", ".join(sorted(facts.configuration.zones))
    if not domain:
        yield warning(
            "kubelets know no cluster domain: pods have no search list for Services",
            field,
            remedy="set clusterDomain in the kubelets' configuration",
        )
    elif domain.lower() not in facts.configuration.zones:
        yield failure(
            f"pods search in {domain}, which the Corefile does not serve from the cluster",
            field,
            f"{facts.configuration.source}: kubernetes {served}",
            remedy="give the kubernetes directive the kubelets' clusterDomain as a zone",
        )


def _own(file: NodeText, right: list[str]) -> Outcome:
    try:
        servers = parse(file.text).nameservers
    except NodeFileError as error:
        return unknown(f"{file.path}: {error.reason}")
    line = f"{file.path}: nameserver {' '.join(servers) or '(none)'}"
    if servers and _canonical(servers[0]) in right:
        return ok("this pod asks the DNS Service", line)
    return warning(
        "this pod does not ask the DNS Service",
        line,
        f"the DNS Service has {', '.join(right) or 'no address'}",
        remedy="if its dnsPolicy is ClusterFirst, correct the kubelet's clusterDNS and make the pod anew",
    )
