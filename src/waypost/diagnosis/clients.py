"""What the pods' own DNS settings lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from waypost.diagnosis import workloads
from waypost.diagnosis.facts import Cluster, Facts
from waypost.diagnosis.finding import Gap, Outcome, Unknown, counted, failure, ok, warning
from waypost.diagnosis.kubelets import told_kubelets
from waypost.diagnosis.ports import cluster_ips
from waypost.diagnosis.workloads import Pod
from waypost.podside.nodefile import NodeFile, NodeFileError
from waypost.podside.policy import CLUSTER_FIRST, NONE, DnsConfig, DnsOption, Kubelet, PodDns
from waypost.podside.resolvconf import ResolvConf, build

_MUSL_LINE: Final = 254
"""Bytes of a resolv.conf line that musl still reads."""
_SHOWN: Final = 3
_SYSTEM_PRIORITY: Final = ("system-node-critical", "system-cluster-critical")
_FATAL_IN_MUSL: Final = ("attempts", "timeout")


class _Alike(NamedTuple):
    """Pods whose resolv.conf is the same."""

    dns: PodDns
    pods: list[str]

    def __str__(self) -> str:
        shown = ", ".join(f"Pod {name}" for name in self.pods[:_SHOWN])
        return shown + (f" and {len(self.pods) - _SHOWN} more" if len(self.pods) > _SHOWN else "")


def judge_limits(facts: Facts) -> Iterator[Outcome]:
    """Search lists and name servers that the kubelet cuts, or that musl does not read."""
    cluster = facts.objects()
    kubelet, assumed = _kubelet(facts, cluster)
    node = facts.node
    file = (
        NodeFile() if isinstance(node, Gap) or isinstance(node.resolv_conf, Gap) else NodeFile(node.resolv_conf.content)
    )
    groups = list(_alike(cluster.client_pods()))
    sick = False
    for group in groups:
        try:
            conf = build(group.dns, kubelet, file)
        except NodeFileError as error:
            raise Unknown(f"{kubelet.resolv_conf}: {error.reason}") from None
        for outcome in _limits(group, conf):
            sick = True
            yield outcome
    if not sick:
        yield ok(
            f"the resolv.conf of {counted(sum(len(group.pods) for group in groups), 'pod')} keeps to the limits",
            *assumed,
        )


def judge_pitfalls(facts: Facts) -> Iterator[Outcome]:
    """Settings that do something else than they seem to."""
    cluster = facts.objects()
    pods = [pod for pod in cluster.client_pods() if not _is_system(pod, cluster)]
    groups = list(_alike(pods))
    servers = cluster_ips(cluster.dns_service())
    sick = False
    for group in groups:
        for outcome in (*_policy(group), *_options(group), *_servers(group, servers)):
            sick = True
            yield outcome
    if not sick:
        yield ok(f"the DNS settings of {counted(len(pods), 'pod')} hold no trap")


def pod_dns(pod: Pod) -> PodDns:
    """What decides the pod's resolv.conf."""
    return PodDns(
        pod.metadata.name,
        pod.metadata.namespace,
        "",
        pod.spec.dns_policy,
        pod.spec.host_network,
        None if pod.spec.dns_config is None else _config(pod.spec.dns_config),
    )


def _config(config: workloads.DnsConfig) -> DnsConfig:
    options = tuple(DnsOption(option.name, option.value) for option in config.options)
    return DnsConfig(tuple(config.nameservers), tuple(config.searches), options)


def _alike(pods: Sequence[Pod]) -> Iterator[_Alike]:
    groups: dict[tuple[object, ...], _Alike] = {}
    for pod in pods:
        dns = pod_dns(pod)
        key = (dns.namespace, dns.policy, dns.host_network, dns.dns_config)
        groups.setdefault(key, _Alike(dns, [])).pods.append(f"{dns.namespace}/{dns.name}")
    yield from groups.values()


def _kubelet(facts: Facts, cluster: Cluster) -> tuple[Kubelet, list[str]]:
    """The first one known; without any, what would be usual, with a line that says so."""
    try:
        told = told_kubelets(facts)[0]
        return told.kubelet, [told.source]
    except Unknown:
        servers = tuple(cluster_ips(cluster.dns_service()))
        return Kubelet(servers, "cluster.local"), ["no kubelet's configuration is known: taken to have cluster.local"]


def _limits(group: _Alike, conf: ResolvConf) -> Iterator[Outcome]:
    for event in conf.events:
        if event.reason == "DNSConfigForming":
            yield warning(
                f"limits of resolv.conf are exceeded in {group}",
                f"{event.reason}: {event.message}",
                remedy="shorten dnsConfig, or the node's search list: what is beyond the limits is cut",
            )
    line = " ".join(("search", *conf.searches))
    if len(line.encode("utf-8", "surrogateescape")) > _MUSL_LINE:
        yield warning(
            f"the search line is longer than musl reads: programs on Alpine have none, in {group}",
            f"search line of {len(line)} characters, musl reads {_MUSL_LINE}",
            remedy="shorten dnsConfig.searches or the node's search list, or use names with the final dot",
        )


def _is_system(pod: Pod, cluster: Cluster) -> bool:
    """The cluster's own components seldom ask for Services."""
    return pod.metadata.namespace == cluster.namespace or pod.spec.priority_class_name in _SYSTEM_PRIORITY


def _policy(group: _Alike) -> Iterator[Outcome]:
    if group.dns.host_network and group.dns.policy == CLUSTER_FIRST:
        yield warning(
            f"pods of the host network with dnsPolicy ClusterFirst do not see Services: {group}",
            f"spec.hostNetwork: true, spec.dnsPolicy: {group.dns.dns_policy or '(none)'}: the node's resolvers",
            remedy="set dnsPolicy: ClusterFirstWithHostNet",
        )
    if group.dns.policy == NONE and (group.dns.dns_config is None or not group.dns.dns_config.nameservers):
        yield failure(
            f"dnsPolicy None without name servers: {group}",
            "spec.dnsConfig.nameservers: (none)",
            remedy="name at least one in dnsConfig, or use another dnsPolicy",
        )


def _options(group: _Alike) -> Iterator[Outcome]:
    for option in group.dns.dns_config.options if group.dns.dns_config is not None else ():
        place = f"spec.dnsConfig.options: name: {option.name}, value: {option.value}"
        if ":" in option.name:
            yield warning(
                f"option name {option.name!r} holds its value: it is added to the other, in {group}",
                place,
                remedy=f'name: {option.name.partition(":")[0]}, value: "{option.name.partition(":")[2]}"',
            )
        elif option.name == "ndots" and not option.value:
            yield warning(
                f"ndots without a value means ndots 1, in {group}",
                place,
                remedy='give it a value: {name: ndots, value: "2"}',
            )
        elif option.name in _FATAL_IN_MUSL and option.value == "0":
            yield failure(
                f"{option.name}:0 crashes programs with musl, and lets glibc ask nobody, in {group}",
                place,
                remedy="use 1 or more",
            )


def _servers(group: _Alike, cluster_servers: Sequence[str]) -> Iterator[Outcome]:
    config = group.dns.dns_config
    if config is None or group.dns.policy == NONE or group.dns.policy == "Default":
        return
    others = [server for server in config.nameservers if server not in cluster_servers]
    if others:
        yield warning(
            f"a name server beside the cluster's is no reserve for it, in {group}",
            f"spec.dnsConfig.nameservers: {', '.join(others)}",
            remedy="let the cluster's DNS forward what it does not know: glibc asks the second only after a timeout,"
            " musl asks both at once and may take the stranger's NXDOMAIN",
        )
