"""NetworkPolicies on the way from client pods to the DNS pods, over UDP and TCP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from waypost.diagnosis.facts import Cluster, Facts, addresses_of
from waypost.diagnosis.finding import Outcome, Unknown, counted, failure, ok, warning
from waypost.diagnosis.networkpolicy import Direction, Party, Traffic, allowing, selecting
from waypost.diagnosis.nodelocal import local_addresses
from waypost.diagnosis.objects import NetworkPolicy
from waypost.diagnosis.ports import PORT, PROTOCOLS, cluster_ips, target_port
from waypost.diagnosis.workloads import Pod
from waypost.podside.policy import CLUSTER_FIRST, CLUSTER_FIRST_WITH_HOST_NET, NONE

_SHOWN: Final = 3


class Wanted(NamedTuple):
    """A DNS pod, and what clients send it."""

    name: str
    party: Party
    traffic: tuple[Traffic, ...]


class Group(NamedTuple):
    """Client pods of one namespace that the same policies select."""

    party: Party
    policies: list[NetworkPolicy]
    pods: list[Pod]

    def __str__(self) -> str:
        shown = ", ".join(pod.metadata.name for pod in self.pods[:_SHOWN])
        more = f" and {len(self.pods) - _SHOWN} more" if len(self.pods) > _SHOWN else ""
        return f"{self.party.namespace}: {shown}{more}"


def judge_egress(facts: Facts) -> Iterator[Outcome]:
    """Policies that select client pods."""
    cluster = facts.objects()
    policies = cluster.all(NetworkPolicy)
    servers = list(_servers(cluster))
    groups = [group for group in _groups(cluster, policies) if group.policies]
    service = Party(addresses=tuple(cluster_ips(cluster.dns_service())))
    sick = False
    for group in groups:
        for outcome in _egress(group, servers, service, _remedy(cluster)):
            sick = True
            yield outcome
    yield from _egress_to_cache(cluster, groups)
    if not sick:
        governed = sum(len(group.pods) for group in groups)
        yield ok(f"no NetworkPolicy blocks DNS: {counted(governed, 'client pod')} selected for egress, and all may ask")


def judge_ingress(facts: Facts) -> Iterator[Outcome]:
    """Policies that select the DNS pods."""
    cluster = facts.objects()
    policies = cluster.all(NetworkPolicy)
    servers = [(server, selecting(policies, Direction.INGRESS, server.party)) for server in _servers(cluster)]
    blocked: dict[tuple[str, str, str], list[str]] = {}
    for party, pods in _distinct_clients(cluster):
        for server, selected in servers:
            for traffic in server.traffic if selected else ():
                if allowing(selected, Direction.INGRESS, party, server.party, traffic) is None:
                    where = party.namespace or f"node {', '.join(party.addresses)}"
                    blocked.setdefault((where, server.name, str(traffic)), []).extend(
                        each.metadata.name for each in pods
                    )
    names = sorted({policy.metadata.name for _, selected in servers for policy in selected})
    for (where, server_name, traffic_text), clients in blocked.items():
        shown = ", ".join(clients[:_SHOWN]) + (f" and {len(clients) - _SHOWN} more" if len(clients) > _SHOWN else "")
        tell = failure if traffic_text.startswith("UDP") else warning
        yield tell(
            f"Pod {cluster.namespace}/{server_name} may not be asked over {traffic_text} from {where}",
            f"NetworkPolicy {cluster.namespace}/({', '.join(names)}).spec.ingress: no rule names these clients",
            f"clients: {shown}",
            remedy="add an ingress rule for UDP and TCP on the DNS port from all namespaces (namespaceSelector: {})"
            " and, for pods of the host network, from the nodes' addresses",
        )
    if not blocked:
        yield ok(
            "no NetworkPolicy keeps clients from the DNS pods",
            *(f"spec.ingress of {name} allows them" for name in names),
        )


def _servers(cluster: Cluster) -> Iterator[Wanted]:
    """Raises Unknown if there is no DNS pod."""
    service = cluster.dns_service()
    labels = cluster.namespace_labels()
    pods = cluster.dns_pods()
    if not pods:
        raise Unknown("there are no DNS pods to get through to")
    for pod in pods:
        traffic = []
        for port in service.spec.ports:
            number = target_port(port, pod)
            if port.port == PORT and port.protocol in PROTOCOLS and number:
                traffic.append(Traffic(port.protocol, number))
        yield Wanted(pod.metadata.name, party_of(pod, labels.get(pod.metadata.namespace, {})), tuple(traffic))


def party_of(pod: Pod, namespace_labels: dict[str, str]) -> Party:
    """A pod as policies see it: one of the host network is only its node's address."""
    ports = {
        (port.name, port.protocol): port.container_port
        for container in pod.spec.containers
        for port in container.ports
        if port.name
    }
    addresses = tuple(addresses_of(pod))
    if pod.spec.host_network:
        return Party(addresses=addresses or tuple(filter(None, (pod.status.host_ip,))), ports=ports)
    return Party(pod.metadata.namespace, pod.metadata.labels, namespace_labels, addresses, ports)


def _asks_cluster_dns(pod: Pod, servers: frozenset[str]) -> bool:
    policy = pod.spec.dns_policy or CLUSTER_FIRST
    if policy == NONE:
        config = pod.spec.dns_config
        return config is not None and not servers.isdisjoint(config.nameservers)
    if policy == CLUSTER_FIRST_WITH_HOST_NET:
        return True
    return policy == CLUSTER_FIRST and not pod.spec.host_network


def _clients(cluster: Cluster) -> list[Pod]:
    """Pods that ask the cluster's DNS, the DNS pods left out."""
    servers = frozenset(cluster_ips(cluster.dns_service()))
    selector = cluster.dns_service().spec.selector.items()
    return [
        pod
        for pod in cluster.client_pods()
        if _asks_cluster_dns(pod, servers)
        and not (pod.metadata.namespace == cluster.namespace and selector and selector <= pod.metadata.labels.items())
    ]


def _groups(cluster: Cluster, policies: Sequence[NetworkPolicy]) -> list[Group]:
    """The clients by namespace and selecting policies: what decides is the same for all of a group."""
    labels = cluster.namespace_labels()
    near: dict[str, list[NetworkPolicy]] = {}
    for policy in policies:
        near.setdefault(policy.metadata.namespace, []).append(policy)
    groups: dict[tuple[str, tuple[str, ...]], Group] = {}
    for pod in _clients(cluster):
        party = party_of(pod, labels.get(pod.metadata.namespace, {}))
        selected = selecting(near.get(party.namespace, ()), Direction.EGRESS, party)
        key = (party.namespace, tuple(policy.metadata.name for policy in selected))
        groups.setdefault(key, Group(party, selected, [])).pods.append(pod)
    return list(groups.values())


def _distinct_clients(cluster: Cluster) -> Iterable[tuple[Party, list[Pod]]]:
    """The clients, and the caches of node-local DNS, by what an ingress rule can tell apart.

    Addresses are left to those of the host network: a rule that names pods by address would not outlive them.
    """
    labels = cluster.namespace_labels()
    found: dict[tuple[object, ...], tuple[Party, list[Pod]]] = {}
    caches = [
        pod
        for pod in cluster.here(Pod)
        if pod.spec.host_network and pod.metadata.labels.get("k8s-app") == "node-local-dns"
    ]
    for pod in [*_clients(cluster), *caches]:
        party = party_of(pod, labels.get(pod.metadata.namespace, {}))
        key = (party.namespace, frozenset(party.labels.items()), () if party.namespace else party.addresses)
        found.setdefault(key, (party, []))[1].append(pod)
    return found.values()


def _egress(group: Group, servers: Sequence[Wanted], service: Party, remedy: str) -> Iterator[Outcome]:
    names = ", ".join(policy.metadata.name for policy in group.policies)
    where = f"NetworkPolicy {group.party.namespace}/({names}).spec.egress"
    for protocol in PROTOCOLS:
        blocked = [
            (server.name, traffic)
            for server in servers
            for traffic in server.traffic
            if traffic.protocol == protocol
            and allowing(group.policies, Direction.EGRESS, server.party, server.party, traffic) is None
        ]
        if not blocked:
            continue
        evidence = [f"{where}: no rule allows {traffic} to Pod {name}" for name, traffic in blocked[:_SHOWN]]
        evidence.append(f"clients in namespace {group}")
        asked = Traffic(protocol, PORT)
        if (policy := allowing(group.policies, Direction.EGRESS, service, service, asked)) is not None:
            yield warning(
                f"{protocol} to DNS is allowed by the Service's address only, in namespace {group.party.namespace}",
                *evidence,
                f"{policy.metadata.name} names {', '.join(service.addresses)}: most network plugins look at"
                " packets after that address was replaced by a pod's",
                remedy=remedy,
            )
        elif protocol == "UDP":
            yield failure(
                f"pods in namespace {group.party.namespace} may not ask DNS over UDP", *evidence, remedy=remedy
            )
        else:
            yield warning(
                f"pods in namespace {group.party.namespace} may not ask DNS over TCP: large answers fail",
                *evidence,
                remedy=remedy,
            )


def _egress_to_cache(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Outcome]:
    """With node-local DNS the packets go to an address of the node, which no pod selector means."""
    try:
        addresses = local_addresses(cluster)
    except Unknown:
        return
    cache = Party(addresses=tuple(addresses))
    for group in groups if addresses else ():
        refused = [
            protocol
            for protocol in PROTOCOLS
            if allowing(group.policies, Direction.EGRESS, cache, cache, Traffic(protocol, PORT)) is None
        ]
        if refused:
            yield warning(
                f"pods in namespace {group.party.namespace} may not ask the cache of their node over"
                f" {' and '.join(refused)}, unless the network plugin always lets pods reach their node",
                f"node-local DNS listens on {', '.join(addresses)}",
                f"clients in namespace {group}",
                remedy="allow egress to ipBlocks of these addresses (/32 or /128), UDP and TCP port 53",
            )


def _remedy(cluster: Cluster) -> str:
    selector = ", ".join(f"{key}: {value}" for key, value in cluster.dns_service().spec.selector.items())
    return (
        "allow egress to namespaceSelector {matchLabels: {kubernetes.io/metadata.name: "
        f"{cluster.namespace}}}}} and, in the same `to` entry, podSelector {{matchLabels: {{{selector}}}}},"
        " for UDP and TCP on the port of the DNS pods"
    )
