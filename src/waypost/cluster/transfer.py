"""A whole cluster zone as records, in the order of a zone transfer (RFC 5936 section 2.2).

What the zone says of a Service, as the kubernetes plugin transfers it:

    ClusterIP       its addresses; for every port an SRV record, for every named one `_PORT._PROTOCOL` too
    headless        for every ready endpoint its address at both names, and SRV records of named ports
    ExternalName    CNAME

Pods, `dns-version` and reverse names are left out, and what would be no valid name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from waypost.cluster.entries import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    HEADLESS,
    Port,
    ServiceEntry,
    Slice,
    endpoint_label,
    key_namespace,
)
from waypost.cluster.find import exposes
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.reverse import name_servers
from waypost.wire.names import MAX_LABEL, MAX_NAME
from waypost.wire.record import Record, address, cname, ns, srv

_SVC_LABEL = b"\x03svc"
_WEIGHT = 100
# Secondaries must not hand out the addresses of this server any longer than they have to.
_GLUE_TTL = 0


def zone_records(
    index: Index, policy: Policy, zone: bytes, soa: Record, local: Sequence[bytes] = ()
) -> Iterator[Record]:
    """Every record of a forward zone, `soa` first and last. `local` are this server's own packed addresses."""
    yield soa
    for server in name_servers(index, local):
        name = server.prefix + zone
        if len(name) <= MAX_NAME:
            yield ns(zone, policy.ttl, name)
            yield from (address(name, _GLUE_TTL, packed) for packed in server.addresses)
    for key, entry in services_by_name(index):
        owner = key + _SVC_LABEL + zone
        if len(owner) <= MAX_NAME and exposes(index, policy, entry.namespace):
            slices = index.endpoints.by_service.get(key, ())
            yield from dict.fromkeys(_RECORDS[entry.kind](owner, policy, entry, slices))
    yield soa


def services_by_name(index: Index) -> list[tuple[bytes, ServiceEntry]]:
    """Keys and Services as they are now, by name, then namespace."""
    return sorted(index.services.items(), key=lambda item: (item[0][1 : 1 + item[0][0]], key_namespace(item[0])))


def port_owner(owner: bytes, port: Port) -> bytes:
    """`_PORT._PROTOCOL.OWNER`, empty for an unnamed port or what is no valid name."""
    number, name, protocol = port
    return below(owner, b"_" + name, b"_" + protocol) if number >= 0 and name and protocol else b""


def below(owner: bytes, *labels: bytes) -> bytes:
    """The name with these labels before it; empty if that is no valid name."""
    if any(not 0 < len(label) <= MAX_LABEL for label in labels):
        return b""
    name = b"".join(bytes((len(label),)) + label for label in labels) + owner
    return name if len(name) <= MAX_NAME else b""


def _cluster_ip(owner: bytes, policy: Policy, entry: ServiceEntry, slices: tuple[Slice, ...]) -> Iterator[Record]:
    yield from (address(owner, policy.ttl, packed) for packed in entry.addresses)
    for port in entry.ports if entry.addresses else ():
        if port[0] >= 0:
            yield srv(owner, policy.ttl, 0, _WEIGHT, port[0], owner)
        if name := port_owner(owner, port):
            yield srv(name, policy.ttl, 0, _WEIGHT, port[0], owner)


def _headless(owner: bytes, policy: Policy, entry: ServiceEntry, slices: tuple[Slice, ...]) -> Iterator[Record]:
    for ports, endpoints in slices:
        weight = max(1, _WEIGHT // len(endpoints)) if endpoints else 0
        for endpoint in endpoints:
            packed = endpoint[0]
            labels = (endpoint_label(endpoint), endpoint[3]) if policy.imported else (endpoint_label(endpoint),)
            name = below(owner, *labels) if packed else b""
            if not name:
                continue
            yield address(owner, policy.ttl, packed)
            yield address(name, policy.ttl, packed)
            for port in ports:
                if service := port_owner(owner, port):
                    yield srv(service, policy.ttl, 0, weight, port[0], name)


def _external_name(owner: bytes, policy: Policy, entry: ServiceEntry, slices: tuple[Slice, ...]) -> Iterator[Record]:
    if entry.target:
        yield cname(owner, policy.ttl, entry.target)


_Rendering = Callable[[bytes, Policy, ServiceEntry, tuple[Slice, ...]], Iterator[Record]]
_RECORDS: Mapping[str, _Rendering] = {
    CLUSTER_IP: _cluster_ip,
    HEADLESS: _headless,
    EXTERNAL_NAME: _external_name,
}
