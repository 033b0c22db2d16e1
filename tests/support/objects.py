"""Kubernetes objects in a few words, as the structs in which they arrive."""

from __future__ import annotations

from waypost.cluster.index import Index
from waypost.cluster.objects import (
    SERVICE_NAME_LABEL,
    Conditions,
    Endpoint,
    EndpointPort,
    EndpointSlice,
    Ingress,
    LoadBalancerStatus,
    Meta,
    Namespace,
    ObjectReference,
    Pod,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)


def port(number: int, name: str = "", protocol: str = "TCP") -> ServicePort:
    return ServicePort(number, name, protocol)


def service(
    where: str,
    *addresses: str,
    ports: tuple[ServicePort, ...] = (),
    external: str = "",
    outside: tuple[str, ...] = (),
    balancer: tuple[Ingress, ...] = (),
) -> Service:
    """`where` is `namespace/name`; addresses are clusterIPs (`None`: headless), `outside` externalIPs."""
    namespace, name = where.split("/")
    spec = ServiceSpec(
        type="ExternalName" if external else "ClusterIP",
        cluster_ips=list(addresses),
        external_name=external,
        external_ips=list(outside),
        ports=list(ports),
    )
    return Service(Meta(name, namespace), spec, ServiceStatus(LoadBalancerStatus(list(balancer))))


def endpoint(*addresses: str, host: str | None = None, pod: str = "", ready: bool | None = True) -> Endpoint:
    return Endpoint(list(addresses), Conditions(ready), host, target_ref=ObjectReference(pod) if pod else None)


def endpoint_slice(
    where: str, *endpoints: Endpoint, of: str = "", ports: tuple[EndpointPort, ...] = (), kind: str = "IPv4"
) -> EndpointSlice:
    """`of` is the Service's name; empty: a slice without its label."""
    namespace, name = where.split("/")
    labels = {SERVICE_NAME_LABEL: of} if of else None
    return EndpointSlice(Meta(name, namespace, labels=labels), kind, list(endpoints), list(ports))


def pod(where: str, address: str, *, terminating: bool = False, labels: dict[str, str] | None = None) -> Pod:
    namespace, name = where.split("/")
    stamp = "2026-01-01T00:00:00Z" if terminating else None
    return Pod(Meta(name, namespace, labels=labels, deletion_timestamp=stamp), PodStatus(address))


def namespace(name: str) -> Namespace:
    return Namespace(Meta(name))


def make_index(
    *items: Service | EndpointSlice | Pod | Namespace, pod_names: bool = False, pod_labels: bool = False
) -> Index:
    """An index with these objects, at second 1,000."""
    index = Index(lambda: 1000.0, endpoint_pod_names=pod_names, pod_labels=pod_labels)
    for item in items:
        index.sinks[type(item).__name__].changed(item)
    return index
