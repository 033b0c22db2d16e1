"""Addresses for objects that have none: a function of the range and the object's name.

An address is found by hashing `Kind/namespace/name` into the range, so that neither the order of files nor other
objects decide it. Only when two hashes meet, or an object asks for that very address, does the later name take the
next free one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address

IPV4, IPV6 = "IPv4", "IPv6"
FAMILIES = (IPV4, IPV6)  # the first is the cluster's primary family

# kubeadm's Service range and flannel's pod range; for IPv6 the ones of kind, by the same scheme.
SERVICE_V4, POD_V4 = IPv4Network("10.96.0.0/12"), IPv4Network("10.244.0.0/16")
SERVICE_V6, POD_V6 = IPv6Network("fd00:10:96::/112"), IPv6Network("fd00:10:244::/64")

WELL_KNOWN_OFFSETS = {"Service/default/kubernetes": 1, "Service/kube-system/kube-dns": 10}
"""kubeadm's convention: the API server has the first Service address, cluster DNS the tenth."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """The cluster's Service and pod networks."""

    service_v4: IPv4Network = SERVICE_V4
    pod_v4: IPv4Network = POD_V4
    service_v6: IPv6Network = SERVICE_V6
    pod_v6: IPv6Network = POD_V6

    @property
    def api_server(self) -> str:
        """Where the API server listens when no manifest says: the first pod address, which no pod gets."""
        return str(self.pod_v4[min(1, self.pod_v4.num_addresses - 1)])

    def service_pools(self) -> dict[str, Pool]:
        """Family -> fresh pool of Service addresses."""
        return {IPV4: service_pool(self.service_v4), IPV6: service_pool(self.service_v6)}

    def pod_pools(self) -> dict[str, Pool]:
        """Family -> fresh pool of pod addresses."""
        return {IPV4: Pool(self.pod_v4, 2), IPV6: Pool(self.pod_v6, 2)}


class Pool:
    """The free addresses of one network. `low` is the first offset given out by hash."""

    __slots__ = ("low", "network", "span", "taken", "used")

    def __init__(self, network: IPv4Network | IPv6Network, low: int) -> None:
        self.network = network
        self.low = min(low, network.num_addresses - 1)
        # The network's own address and an IPv4 broadcast address are nobody's.
        self.span = max(network.num_addresses - self.low - (1 if network.version == 4 else 0), 0)
        self.taken: set[int] = set()
        self.used = 0  # how many of them lie within the span

    def reserve(self, address: str) -> None:
        """Keep `address` from being given out; an address outside the network is no concern of the pool."""
        if (wanted := ip_address(address)) in self.network:
            self._mark(int(wanted) - int(self.network.network_address))

    def take(self, key: str) -> str | None:
        """The address for `key`, or None when the network is full."""
        well_known = WELL_KNOWN_OFFSETS.get(key)
        if well_known is not None and well_known not in self.taken and well_known < self.network.num_addresses:
            return self._give(well_known)
        if self.used >= self.span:
            return None
        start = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=16).digest(), "big") % self.span
        # Some offset is free: the walk round the span ends.
        step = next(step for step in range(self.span) if self.low + (start + step) % self.span not in self.taken)
        return self._give(self.low + (start + step) % self.span)

    def assign(self, keys: Iterable[str]) -> dict[str, str]:
        """Key -> address for all keys; those that found the network full are missing."""
        given = {key: self.take(key) for key in sorted(keys, key=lambda key: (key not in WELL_KNOWN_OFFSETS, key))}
        return {key: address for key, address in given.items() if address is not None}

    def _give(self, offset: int) -> str:
        self._mark(offset)
        return str(self.network.network_address + offset)

    def _mark(self, offset: int) -> None:
        if offset not in self.taken:
            self.taken.add(offset)
            self.used += self.low <= offset < self.low + self.span


def service_pool(network: IPv4Network | IPv6Network) -> Pool:
    """A pool that leaves the lower part of the network to Services with an address of their own.

    The same part as Kubernetes keeps free (KEP-3070): a sixteenth of the network, at least 16 and at most 256.
    """
    reserved = min(max(16, network.num_addresses // 16), 256)
    return Pool(network, reserved if network.num_addresses > 2 * reserved else 1)


def family(address: str) -> str:
    """IPv4 or IPv6."""
    return IPV6 if ":" in address else IPV4


def suffix(key: str, length: int) -> str:
    """A name suffix as Kubernetes generates it (no vowels, so no words), but always the same for `key`."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    number = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=16).digest(), "big")
    return "".join(alphabet[number // 27**place % 27] for place in range(length))
