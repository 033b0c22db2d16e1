"""What decides a pod's resolv.conf, in the API's words: dnsPolicy, dnsConfig, hostNetwork, the kubelet's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

MAX_NAMESERVERS: Final = 3
MAX_SEARCHES: Final = 32
MAX_SEARCH_LINE: Final = 2048
"""Bytes of the search list with single blanks between the domains."""
MAX_NAME: Final = 253

CLUSTER_FIRST: Final = "ClusterFirst"
CLUSTER_FIRST_WITH_HOST_NET: Final = "ClusterFirstWithHostNet"
DEFAULT: Final = "Default"
NONE: Final = "None"
POLICIES: Final = (CLUSTER_FIRST_WITH_HOST_NET, CLUSTER_FIRST, DEFAULT, NONE)
"""In the order of the API server's message."""


class DnsOption(NamedTuple):
    """One entry of dnsConfig.options."""

    name: str = ""
    value: str | None = None


@dataclass(frozen=True, slots=True)
class DnsConfig:
    """dnsConfig: what is added to the lists that the policy gives."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[DnsOption, ...] = ()


@dataclass(frozen=True, slots=True)
class PodDns:
    """A pod as far as DNS is concerned. An empty policy is one that was left out."""

    name: str = "pod"
    namespace: str = "default"
    uid: str = ""
    dns_policy: str = ""
    host_network: bool = False
    dns_config: DnsConfig | None = None

    @property
    def policy(self) -> str:
        """The policy after API defaulting."""
        return self.dns_policy or CLUSTER_FIRST


@dataclass(frozen=True, slots=True)
class Kubelet:
    """KubeletConfiguration's clusterDNS, clusterDomain and resolvConf (empty: the node has no DNS); the node's IPs."""

    cluster_dns: tuple[str, ...] = ()
    cluster_domain: str = ""
    resolv_conf: str = "/etc/resolv.conf"
    node_ips: tuple[str, ...] = ()


class Event(NamedTuple):
    """An event of type Warning; `object` is the kind of what it is about, Pod or Node."""

    reason: str
    object: str
    message: str


def byte_length(text: str) -> int:
    """Limits of search lists count bytes."""
    return len(text.encode("utf-8", "surrogateescape"))
