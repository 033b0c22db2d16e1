"""EndpointSlices: those given, those of older Endpoints objects, and those a Service's pods make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from waypost.manifests.addresses import FAMILIES, Ranges, family, suffix
from waypost.manifests.documents import Document
from waypost.manifests.model import (
    Endpoint,
    EndpointAddress,
    Endpoints,
    EndpointSlice,
    EndpointSubset,
    Meta,
    Service,
    ServiceSpec,
)
from waypost.manifests.services import API_SERVER, API_SERVER_PORT, families, is_headless, metadata, spec_of
from waypost.manifests.workloads import Pod, PortNames

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
HEADLESS_LABEL = "service.kubernetes.io/headless"

SlicePort = tuple[str, str, int]
"""(port name, protocol, number)."""


def slice_objects(documents: Sequence[Document], pods: Sequence[Pod], ranges: Ranges) -> Iterator[dict[str, Any]]:
    """Every EndpointSlice of the cluster.

    A Service whose slices are given has no others; one with an Endpoints object has those; the rest select pods.
    """
    with_label: defaultdict[tuple[str, str, str], list[Pod]] = defaultdict(list)
    for pod in pods:
        for key, value in pod.labels.items():
            with_label[pod.namespace, key, value].append(pod)
    services = {(item.namespace, item.name): item for item in documents if isinstance(item.manifest, Service)}
    settled: set[tuple[str, str]] = set()
    for document in documents:
        if isinstance(document.manifest, EndpointSlice):
            settled.add((document.namespace, document.manifest.metadata.labels.get(SERVICE_NAME_LABEL, "")))
            yield given_slice(document)
    for document in documents:
        place = document.namespace, document.name
        if isinstance(document.manifest, Endpoints) and place in services and place not in settled:
            settled.add(place)
            yield from slices_from_endpoints(document)
    for place, service in services.items():
        if place in settled:
            continue
        if service is API_SERVER:
            yield api_server_slice(ranges)
        elif selector := spec_of(service).selector:
            choices = [with_label.get((service.namespace, *label), []) for label in selector.items()]
            yield from slices_from_pods(service, min(choices, key=len))


def given_slice(document: Document) -> dict[str, Any]:
    """A slice of the manifests, as it is."""
    manifest = document.manifest
    assert isinstance(manifest, EndpointSlice), "chosen by its kind"
    return {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": metadata(manifest.metadata, document.namespace),
        "addressType": manifest.address_type,
        "endpoints": msgspec.to_builtins(manifest.endpoints),
        "ports": msgspec.to_builtins(manifest.ports),
    }


def api_server_slice(ranges: Ranges) -> dict[str, Any]:
    """Where `default/kubernetes` leads when no manifest says: the first pod address."""
    endpoints = [{"addresses": [ranges.api_server], "conditions": {"ready": True}}]
    ports = [{"name": "https", "protocol": "TCP", "port": API_SERVER_PORT}]
    return endpoint_slice(API_SERVER, {}, family(ranges.api_server), endpoints, ports, "")


def slices_from_pods(service: Document, pods: Sequence[Pod]) -> Iterator[dict[str, Any]]:
    """EndpointSlices of a Service with a selector; `pods` are those of its namespace that may match.

    Pods for which a named port means different numbers go to different slices: a slice has one number for a port.
    """
    spec = spec_of(service)
    selected = [pod for pod in pods if not pod.finished and spec.selector.items() <= pod.labels.items()]
    labels = service.manifest.metadata.labels | ({HEADLESS_LABEL: ""} if is_headless(spec) else {})
    for ip_family in families(spec):
        groups: defaultdict[tuple[SlicePort, ...], list[dict[str, Any]]] = defaultdict(list)
        for pod in selected:
            address = next((item for item in pod.addresses or () if family(item) == ip_family), None)
            if address is not None:
                groups[target_ports(spec, pod.ports)].append(pod_endpoint(pod, address, service))
        for found, endpoints in groups.items():
            ports = [{"name": name, "protocol": protocol, "port": number} for name, protocol, number in found]
            yield endpoint_slice(service, labels, ip_family, endpoints, ports, str(found))


def target_ports(spec: ServiceSpec, names: PortNames) -> tuple[SlicePort, ...]:
    """The container ports behind the Service's ports; a name that the pod does not know is left out."""
    found = []
    for port in spec.ports:
        target = port.target_port or port.port
        number = names.get((target, port.protocol)) if isinstance(target, str) else target
        if number is not None:
            found.append((port.name, port.protocol, number))
    return tuple(found)


def pod_endpoint(pod: Pod, address: str, service: Document) -> dict[str, Any]:
    """One endpoint; it has a host name when the pod names this Service as its subdomain."""
    result: dict[str, Any] = {
        "addresses": [address],
        "conditions": {"ready": pod.ready or spec_of(service).publish_not_ready_addresses},
        "targetRef": {"kind": "Pod", "name": pod.name},
    }
    if pod.hostname and pod.subdomain == service.name:
        result["hostname"] = pod.hostname
    return result


def slices_from_endpoints(document: Document) -> Iterator[dict[str, Any]]:
    """EndpointSlices of an Endpoints object: one for each subset and family."""
    manifest = document.manifest
    assert isinstance(manifest, Endpoints), "chosen by its kind"
    for index, subset in enumerate(manifest.subsets):
        ports = msgspec.to_builtins(subset.ports)
        for ip_family in FAMILIES:
            if endpoints := list(subset_endpoints(subset, ip_family)):
                yield endpoint_slice(document, manifest.metadata.labels, ip_family, endpoints, ports, str(index))


def subset_endpoints(subset: EndpointSubset, ip_family: str) -> Iterator[dict[str, Any]]:
    """The addresses of one family, ready ones first."""
    for addresses, ready in ((subset.addresses, True), (subset.not_ready_addresses, False)):
        for item in addresses:
            if family(item.ip) == ip_family:
                yield subset_endpoint(item) | {"conditions": {"ready": ready}}


def subset_endpoint(item: EndpointAddress) -> dict[str, Any]:
    """An EndpointAddress as an Endpoint."""
    result: dict[str, Any] = msgspec.to_builtins(
        Endpoint([str(item.ip)], hostname=item.hostname, node_name=item.node_name, target_ref=item.target_ref)
    )
    return result


def endpoint_slice(
    owner: Document,
    labels: Mapping[str, str],
    address_type: str,
    endpoints: list[dict[str, Any]],
    ports: list[dict[str, Any]],
    key: str,
) -> dict[str, Any]:
    """An EndpointSlice; `key` tells it from others of the same owner and address type."""
    name = f"{owner.name}-{suffix(f'{owner.namespace}/{owner.name}/{address_type}/{key}', 5)}"
    meta = metadata(Meta(name, labels={**labels, SERVICE_NAME_LABEL: owner.name}), owner.namespace)
    return {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": meta,
        "addressType": address_type,
        "endpoints": endpoints,
        "ports": ports,
    }
