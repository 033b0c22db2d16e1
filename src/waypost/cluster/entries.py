"""What the index keeps of an object: packed entries, and how API objects become them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from waypost.cluster.objects import SERVICE_NAME_LABEL, EndpointSlice, Service, ServiceImport
from waypost.wire import addr
from waypost.wire.errors import BadName
from waypost.wire.names import from_text

Port = tuple[int, bytes, bytes]
"""Number (-1: none given), name and protocol in lower case."""
Ports = tuple[Port, ...]
Endpoint = tuple[bytes, bytes, bytes, bytes]
"""Packed address (empty for a host name), host label (empty: made from the address), host name in wire form or empty,
and where it is if that is asked for: its topology zone, or the cluster that it was imported from.

A plain tuple of bytes is invisible to the garbage collector; a hundred thousand objects would not be.
"""
Slice = tuple[Ports, tuple[Endpoint, ...]]

_NO_PORT: Ports = ((-1, b"", b""),)
_POD_NAME_LIMIT = 64

CLUSTER_IP = "ClusterIP"
HEADLESS = "Headless"
EXTERNAL_NAME = "ExternalName"


class External(NamedTuple):
    """How a Service is reached from outside: packed addresses and host names in wire form, as the API lists them."""

    addresses: tuple[bytes, ...]
    hosts: tuple[bytes, ...]


NO_EXTERNAL = External((), ())


class ServiceEntry(NamedTuple):
    """A Service: kind, namespace, packed cluster addresses, ports; an ExternalName's target in wire form or empty."""

    kind: str
    namespace: bytes
    addresses: tuple[bytes, ...]
    ports: Ports
    target: bytes = b""
    external: External = NO_EXTERNAL


def object_key(namespace: str, name: str) -> bytes:
    """The index key of a namespaced object: its name and namespace as labels in wire form; empty if it has none."""
    raw_name, raw_namespace = name.encode(), namespace.encode()
    if not 0 < len(raw_name) < 254 or not 0 < len(raw_namespace) < 64:
        return b""
    return b"%c%b%c%b" % (len(raw_name), raw_name, len(raw_namespace), raw_namespace)


def key_namespace(key: bytes) -> bytes:
    """The namespace in an object's key."""
    return key[key[0] + 2 :]


def is_address(text: str) -> bool:
    """True for an address where a host name is expected, with or without a dot at its end."""
    return addr.pack(text.removesuffix(".")) is not None


def host_name(text: str) -> bytes:
    """A host name in wire form, lower case; empty for an address or for what is no name."""
    if not text or is_address(text):
        return b""
    try:
        return from_text(text.lower())
    except BadName:
        return b""


def service_entry(item: Service, namespace: bytes, intern: Callable[[Ports], Ports]) -> ServiceEntry:
    """Pack a Service; `clusterIPs` falls back to `clusterIP`, and no ports become one without a number."""
    spec = item.spec
    ports = tuple((port.port, port.name.lower().encode(), port.protocol.lower().encode()) for port in spec.ports or ())
    ports = intern(ports or _NO_PORT)
    external = external_of(item)
    if spec.type == "ExternalName":
        return ServiceEntry(EXTERNAL_NAME, namespace, (), ports, host_name(spec.external_name), external)
    texts = spec.cluster_ips or ([spec.cluster_ip] if spec.cluster_ip else [])
    if texts[:1] == ["None"]:
        return ServiceEntry(HEADLESS, namespace, (), ports, external=external)
    addresses = tuple(packed for packed in map(addr.pack, texts) if packed is not None)
    return ServiceEntry(CLUSTER_IP, namespace, addresses, ports, external=external)


def import_entry(item: ServiceImport, namespace: bytes, intern: Callable[[Ports], Ports]) -> ServiceEntry:
    """Pack a ServiceImport; one without ports has none, and so no names."""
    spec = item.spec
    ports = tuple((port.port, port.name.lower().encode(), port.protocol.lower().encode()) for port in spec.ports or ())
    if spec.type == HEADLESS:
        return ServiceEntry(HEADLESS, namespace, (), intern(ports))
    addresses = tuple(packed for packed in map(addr.pack, spec.ips or ()) if packed is not None)
    return ServiceEntry(CLUSTER_IP, namespace, addresses, intern(ports))


def external_of(item: Service) -> External:
    """`externalIPs`, then what the load balancer reports; texts that are neither address nor name are left out."""
    ingress = item.status.load_balancer.ingress
    texts = [*(item.spec.external_ips or ()), *(entry.ip or entry.hostname for entry in ingress or ())]
    if not texts:
        return NO_EXTERNAL
    addresses = dict.fromkeys(packed for packed in map(addr.pack, texts) if packed is not None)
    hosts = dict.fromkeys(host for host in map(host_name, texts) if host)
    return External(tuple(addresses), tuple(hosts)) if addresses or hosts else NO_EXTERNAL


def slice_entry(
    item: EndpointSlice, intern: Callable[[Ports], Ports], *, pod_names: bool, zones: bool = False, cluster: bytes = b""
) -> Slice:
    """Pack the ready endpoints of a slice.

    `pod_names` labels endpoints without a hostname by their pod, `zones` keeps their topology zones, `cluster` is the
    one that the slice was imported from.
    """
    ports = tuple(
        (
            -1 if port.port is None else port.port,
            (port.name or "").lower().encode(),
            (port.protocol or "").lower().encode(),
        )
        for port in item.ports or ()
    )
    endpoints: list[Endpoint] = []
    for endpoint in item.endpoints or ():
        if endpoint.conditions.ready is False:
            continue
        label = _label(endpoint.hostname, endpoint.target_ref.name if endpoint.target_ref and pod_names else "")
        place = (endpoint.zone or "").lower().encode() if zones else cluster
        for text in endpoint.addresses:
            packed = addr.pack(text)
            if packed is not None:
                endpoints.append((packed, label, b"", place))
            elif target := host_name(text):
                endpoints.append((b"", label or text.replace(".", "-").lower().encode(), target, place))
    return intern(ports or _NO_PORT), tuple(endpoints)


def slice_service(item: EndpointSlice, label: str = SERVICE_NAME_LABEL) -> bytes:
    """The key of the Service that a slice belongs to; empty without the label (such a slice makes no names)."""
    return object_key(item.metadata.namespace, (item.metadata.labels or {}).get(label, ""))


def endpoint_label(endpoint: Endpoint) -> bytes:
    """The label under which an endpoint is found: hostname, pod name, or its address with dashes."""
    packed, label, _, _ = endpoint
    if label:
        return label
    text = dashed(packed)
    return text + b"0" if text.endswith(b"-") else text


def dashed(packed: bytes) -> bytes:
    """An address with dashes for dots or colons.

    No IPv6 address is written with dots here, as RFC 5952 section 5 has it for some: with dashes in their place it
    could be read as another one.
    """
    text = addr.unpack(packed)
    if len(packed) == 4:
        return text.replace(".", "-").encode()
    if "." in text:
        text = f"{text[: text.rindex(':')]}:{packed[12] << 8 | packed[13]:x}:{packed[14] << 8 | packed[15]:x}"
    return text.replace(":", "-").encode()


def _label(hostname: str | None, pod: str) -> bytes:
    if hostname:
        return hostname.lower().encode()
    return pod.lower().encode() if 0 < len(pod) < _POD_NAME_LIMIT else b""
