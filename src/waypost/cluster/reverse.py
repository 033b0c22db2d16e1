"""Address -> names: PTR answers and the name servers of the zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from waypost.cluster.entries import HEADLESS, endpoint_label, key_namespace
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.wire.names import MAX_LABEL, is_within

_SVC_LABEL = b"\x03svc"
_REVERSE_TREES = (b"\x07in-addr\x04arpa\x00", b"\x03ip6\x04arpa\x00")


def is_reverse(zone: bytes) -> bool:
    """True for a zone of reverse names, the trees themselves included; wire form, lower case."""
    return any(is_within(zone, tree) for tree in _REVERSE_TREES)


def names_of_address(index: Index, policy: Policy, packed: bytes) -> list[bytes]:
    """The names left of the zone that an address has, in wire form without an end.

    A Service's own address has one name, an endpoint's one for each Service it backs: first those with a hostname (or
    a pod's name), of them first those of headless Services, then in the Services' order. Only `namespaces` hides names
    here, as in CoreDNS.
    """
    key = index.service_of_address(packed)
    if key is not None:
        return [key + _SVC_LABEL] if _visible(policy, key) else []
    ranked: list[tuple[bool, bool, bytes]] = []
    for service in index.endpoints.services_of(packed):
        if _visible(policy, service):
            entry = index.services.get(service)
            plain = entry is None or entry.kind != HEADLESS
            ranked += ((not named, plain, name) for named, name in _endpoint_names(index, service, packed))
    ranked.sort(key=lambda item: item[:2])
    return list(dict.fromkeys(name for _, _, name in ranked))


class NameServer(NamedTuple):
    """A name server of the zone: its name left of the zone, and its packed addresses."""

    prefix: bytes
    addresses: tuple[bytes, ...]


def name_servers(index: Index, local: Sequence[bytes]) -> list[NameServer]:
    """The Services through which this server is reached, found by its own addresses; `ns.dns` if there is none."""
    if not local:
        return []
    found: dict[bytes, dict[bytes, None]] = {}
    for packed in local:
        for service in index.endpoints.services_of(packed):
            entry = index.services.get(service)
            if entry is None:
                continue
            if entry.kind == HEADLESS:
                for _, name in _endpoint_names(index, service, packed):
                    found.setdefault(name, {})[packed] = None
            else:
                found.setdefault(service + _SVC_LABEL, {}).update(dict.fromkeys(entry.addresses))
    if not found:
        return [NameServer(b"\x02ns\x03dns", tuple(local))]
    return [NameServer(prefix, tuple(addresses)) for prefix, addresses in found.items()]


def name_server_keys(index: Index, local: Sequence[bytes]) -> tuple[bytes, ...]:
    """The index keys that `name_servers` depends on: a change of one may change it."""
    services = (service for packed in local for service in index.endpoints.services_of(packed))
    return (*local, *dict.fromkeys(services))


def _visible(policy: Policy, key: bytes) -> bool:
    return policy.namespaces is None or key_namespace(key) in policy.namespaces


def _endpoint_names(index: Index, service: bytes, packed: bytes) -> Iterator[tuple[bool, bytes]]:
    """The names that an address has in a Service, and whether they are more than the address with dashes."""
    for _, endpoints in index.endpoints.by_service.get(service, ()):
        for endpoint in endpoints:
            if endpoint[0] == packed:
                label = endpoint_label(endpoint)
                if len(label) <= MAX_LABEL:
                    yield bool(endpoint[1]), bytes((len(label),)) + label + service + _SVC_LABEL
