"""Services: their families and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.manifests.addresses import FAMILIES, IPV4, Ranges, family
from waypost.manifests.documents import Document
from waypost.manifests.model import LabelMeta, Meta, Service, ServicePort, ServiceSpec
from waypost.manifests.problem import Problem

API_SERVER_PORT = 6443
API_SERVER = Document(
    "",
    0,
    "",
    "Service",
    Service(
        LabelMeta("kubernetes", "default", {"component": "apiserver", "provider": "kubernetes"}),
        ServiceSpec(ports=[ServicePort(443, "https", target_port=API_SERVER_PORT)]),
    ),
)
"""The Service `default/kubernetes`, which every cluster has."""


def service_objects(documents: Sequence[Document], ranges: Ranges) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The Services among `documents` in the shape of the API, each with the addresses it gives or is given."""
    services = [item for item in documents if isinstance(item.manifest, Service)]
    pools = ranges.service_pools()
    for document in services:
        for address in given_addresses(spec_of(document)):
            pools[family(address)].reserve(address)
    assigned = {
        ip_family: pool.assign(service_key(item) for item in services if ip_family in missing_families(spec_of(item)))
        for ip_family, pool in pools.items()
    }
    objects, problems = [], []
    for document in services:
        addresses = {family(address): address for address in given_addresses(spec_of(document))}
        for ip_family in missing_families(spec_of(document)):
            if (found := assigned[ip_family].get(service_key(document))) is not None:
                addresses[ip_family] = found
            else:
                network = pools[ip_family].network
                problems.append(document.problem("spec.clusterIP", f"no free address left in {network}"))
        objects.append(service_object(document, [addresses[item] for item in FAMILIES if item in addresses]))
    return objects, problems


def service_object(document: Document, addresses: list[str]) -> dict[str, Any]:
    """One Service with `addresses` in the order of its families."""
    manifest = document.manifest
    assert isinstance(manifest, Service), "chosen by its kind"
    spec = msgspec.to_builtins(manifest.spec, enc_hook=str)
    order = families(manifest.spec)
    cluster_ips = ["None"] if is_headless(manifest.spec) else sorted(addresses, key=lambda ip: order.index(family(ip)))
    if order:
        spec |= {"clusterIP": next(iter(cluster_ips), ""), "clusterIPs": cluster_ips, "ipFamilies": list(order)}
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": metadata(manifest.metadata, document.namespace),
        "spec": spec,
        "status": msgspec.to_builtins(manifest.status, enc_hook=str),
    }


def service_key(document: Document) -> str:
    """What its addresses depend on."""
    return f"Service/{document.namespace}/{document.name}"


def spec_of(document: Document) -> ServiceSpec:
    """The spec of a document that is known to be a Service."""
    assert isinstance(document.manifest, Service), "chosen by its kind"
    return document.manifest.spec


def missing_families(spec: ServiceSpec) -> list[str]:
    """The families in which a Service still needs an address."""
    if is_headless(spec):
        return []
    given = set(map(family, given_addresses(spec)))
    return [ip_family for ip_family in families(spec) if ip_family not in given]


def families(spec: ServiceSpec) -> tuple[str, ...]:
    """The families a Service is to have (API: ipFamilies, ipFamilyPolicy), primary first; none for ExternalName."""
    if spec.type == "ExternalName":
        return ()
    wanted = tuple(dict.fromkeys((*spec.ip_families, *map(family, given_addresses(spec))))) or (IPV4,)
    if spec.ip_family_policy in ("PreferDualStack", "RequireDualStack"):
        return tuple(dict.fromkeys((*wanted, *FAMILIES)))
    return wanted


def is_headless(spec: ServiceSpec) -> bool:
    """Whether `None` stands in place of an address."""
    return "None" in (spec.cluster_ip, *spec.cluster_ips[:1])


def given_addresses(spec: ServiceSpec) -> list[str]:
    """The cluster addresses that the manifest itself gives, in order."""
    return list(dict.fromkeys(str(ip) for ip in (spec.cluster_ip, *spec.cluster_ips) if ip and ip != "None"))


def metadata(meta: Meta, namespace: str) -> dict[str, Any]:
    """ObjectMeta with what DNS needs; a cluster-wide object has an empty namespace."""
    result: dict[str, Any] = {"name": meta.name, "labels": dict(meta.labels)}
    if namespace:
        result["namespace"] = namespace
    if meta.deletion_timestamp:
        result["deletionTimestamp"] = meta.deletion_timestamp
    return result
