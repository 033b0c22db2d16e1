"""The resolv.conf that the kubelet has written for a pod, with the events it records on the way.

Follows the DNS configurer of Kubernetes 1.36. The kubelet leaves the order of options to chance once a dnsConfig is
merged; here they keep the order in which they come.
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.podside.addresses import parse_lenient
from waypost.podside.nodefile import Lists, NodeFile, NodeFileError, read_node_file
from waypost.podside.policy import (
    CLUSTER_FIRST,
    DEFAULT,
    MAX_NAME,
    MAX_NAMESERVERS,
    MAX_SEARCH_LINE,
    MAX_SEARCHES,
    NONE,
    DnsConfig,
    Event,
    Kubelet,
    PodDns,
    byte_length,
)

_CLUSTER_SEARCHES = 3
_NO_CLUSTER_DNS = (
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
    'Falling back to "Default" policy.'
)


@dataclass(frozen=True, slots=True)
class ResolvConf:
    """The file's three lists and the events of the pod's creation, in order."""

    nameservers: tuple[str, ...]
    searches: tuple[str, ...]
    options: tuple[str, ...]
    events: tuple[Event, ...] = ()

    def text(self) -> str:
        """The file as containerd and CRI-O write it: search, nameserver, options; a line only for a list with entries.

        With three empty lists containerd writes an empty file, and CRI-O copies the node's.
        """
        search = [f"search {' '.join(self.searches)}\n"] if self.searches else []
        options = [f"options {' '.join(self.options)}\n"] if self.options else []
        return "".join([*search, *(f"nameserver {server}\n" for server in self.nameservers), *options])


def build(pod: PodDns, kubelet: Kubelet, node_file: NodeFile) -> ResolvConf:
    """The resolv.conf of a pod. Raises NodeFileError: the node's file is read first, whatever the policy."""
    host = read_node_file(kubelet.resolv_conf, node_file)
    lists, missing = _by_policy(pod, kubelet, host)
    if pod.dns_config is not None:
        lists = _merge(lists, pod.dns_config)
    nameservers = lists.nameservers[:MAX_NAMESERVERS]
    searches = _fit(lists.searches)
    events = list(missing)
    if nameservers != lists.nameservers:
        events.append(_omitted("Nameserver", "nameservers", "nameserver", nameservers))
    if searches != lists.searches:
        events.append(_omitted("Search Line", "search paths", "search", searches))
    return ResolvConf(nameservers, searches, lists.options, tuple(events))


def check_node_file(kubelet: Kubelet, node_file: NodeFile) -> tuple[Event, ...]:
    """The event of the check that a kubelet makes of the node's file once, when it starts; at most one."""
    if not kubelet.resolv_conf:
        return ()
    try:
        searches = read_node_file(kubelet.resolv_conf, node_file).searches
    except NodeFileError as exc:
        return (Event("CheckLimitsForResolvConf", "Node", exc.reason),)
    path = kubelet.resolv_conf
    allowed = MAX_SEARCHES - _CLUSTER_SEARCHES if kubelet.cluster_domain else MAX_SEARCHES
    if len(searches) > allowed:
        text = f"Resolv.conf file '{path}' contains search line consisting of more than {allowed} domains!"
    elif any(byte_length(search) > MAX_NAME for search in searches):
        text = f'Resolv.conf file "{path}" contains a search path which length is more than allowed {MAX_NAME} chars!'
    elif byte_length(" ".join(searches)) > MAX_SEARCH_LINE:
        text = (
            f"Resolv.conf file '{path}' contains search line which length is more than allowed {MAX_SEARCH_LINE} chars!"
        )
    else:
        return ()
    return (Event("CheckLimitsForResolvConf", "Node", text),)


def _by_policy(pod: PodDns, kubelet: Kubelet, host: Lists) -> tuple[Lists, tuple[Event, ...]]:
    """What the policy gives before dnsConfig. A policy that nobody knows is taken as ClusterFirst."""
    if pod.policy == NONE:
        return Lists(), ()
    if pod.policy == DEFAULT or (pod.policy == CLUSTER_FIRST and pod.host_network):
        return _of_node(kubelet, host), ()
    servers = tuple(str(address) for text in kubelet.cluster_dns if (address := parse_lenient(text)) is not None)
    if servers:
        return Lists(servers, _cluster_searches(pod, kubelet, host), ("ndots:5",)), ()
    who = f'pod: "{pod.name}_{pod.namespace}({pod.uid})". '
    events = (
        Event("MissingClusterDNS", "Node", _NO_CLUSTER_DNS),
        Event("MissingClusterDNS", "Pod", who + _NO_CLUSTER_DNS),
    )
    return _of_node(kubelet, host), events


def _of_node(kubelet: Kubelet, host: Lists) -> Lists:
    """The node's lists; without a file the loopback address of each family that the node has, and the root."""
    if kubelet.resolv_conf:
        return host
    addresses = [address for text in kubelet.node_ips if (address := parse_lenient(text)) is not None]
    servers = tuple("127.0.0.1" if address.version == 4 else "::1" for address in addresses)
    return Lists(servers or ("127.0.0.1",), (".",))


def _cluster_searches(pod: PodDns, kubelet: Kubelet, host: Lists) -> tuple[str, ...]:
    domain = kubelet.cluster_domain
    if not domain:
        return host.searches
    return _unique((f"{pod.namespace}.svc.{domain}", f"svc.{domain}", domain, *host.searches))


def _merge(lists: Lists, config: DnsConfig) -> Lists:
    """dnsConfig behind what the policy gives, doublets left out; an option replaces the one of its name."""
    options = {}
    for option in lists.options:
        name, _, value = option.partition(":")
        options[name] = value
    options |= {option.name: option.value or "" for option in config.options}
    return Lists(
        _unique((*lists.nameservers, *config.nameservers)),
        _unique((*lists.searches, *config.searches)),
        tuple(f"{name}:{value}" if value else name for name, value in options.items()),
    )


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _fit(searches: tuple[str, ...]) -> tuple[str, ...]:
    """Cut to the number, then without the too long ones, then from the end until the line fits: slots stay empty."""
    fitting = [search for search in searches[:MAX_SEARCHES] if byte_length(search) <= MAX_NAME]
    while byte_length(" ".join(fitting)) > MAX_SEARCH_LINE:
        fitting.pop()
    return tuple(fitting)


def _omitted(limit: str, what: str, line: str, applied: tuple[str, ...]) -> Event:
    text = f"{limit} limits were exceeded, some {what} have been omitted, the applied {line} line is: "
    return Event("DNSConfigForming", "Pod", text + " ".join(applied))
