"""The fields of Kubernetes objects that DNS needs, as typed structs; every other field is skipped while decoding.

A struct is only the form in which an object arrives (from the API, a snapshot or manifests); `cluster.index` keeps
packed tuples. Field names are those of the Kubernetes API in snake case.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, field

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
IMPORTED_SERVICE_LABEL = "multicluster.kubernetes.io/service-name"
SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster"
LAST_CHANGE_TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


class Meta(Struct, gc=False, rename="camel"):
    """ObjectMeta: identity, version and labels."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class ServicePort(Struct, gc=False, rename="camel"):
    """ServicePort: `port` is what SRV records carry."""

    port: int
    name: str = ""
    protocol: str = "TCP"


class Ingress(Struct, gc=False, rename="camel"):
    """LoadBalancerIngress: an address or a host name."""

    ip: str = ""
    hostname: str = ""


class LoadBalancerStatus(Struct, gc=False, rename="camel"):
    """LoadBalancerStatus."""

    ingress: list[Ingress] | None = None


class ServiceStatus(Struct, gc=False, rename="camel"):
    """ServiceStatus."""

    load_balancer: LoadBalancerStatus = field(default_factory=LoadBalancerStatus)


class ServiceSpec(Struct, gc=False, rename="camel"):
    """ServiceSpec. `cluster_ips` falls back to `[cluster_ip]` (older API servers)."""

    type: str = "ClusterIP"
    cluster_ip: str = field(default="", name="clusterIP")
    cluster_ips: list[str] | None = field(default=None, name="clusterIPs")
    external_name: str = ""
    external_ips: list[str] | None = field(default=None, name="externalIPs")
    ports: list[ServicePort] | None = None


class Service(Struct, gc=False, rename="camel"):
    """v1 Service."""

    metadata: Meta
    spec: ServiceSpec = field(default_factory=ServiceSpec)
    status: ServiceStatus = field(default_factory=ServiceStatus)


class Conditions(Struct, gc=False, rename="camel"):
    """EndpointConditions: an unset `ready` means ready."""

    ready: bool | None = None


class ObjectReference(Struct, gc=False, rename="camel"):
    """ObjectReference of an endpoint."""

    name: str = ""


class Endpoint(Struct, gc=False, rename="camel"):
    """One endpoint of a slice."""

    addresses: list[str]
    conditions: Conditions = field(default_factory=Conditions)
    hostname: str | None = None
    node_name: str | None = None
    zone: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(Struct, gc=False, rename="camel"):
    """EndpointPort: an unset port means all ports, an unset name or protocol is empty."""

    port: int | None = None
    name: str | None = None
    protocol: str | None = None


class EndpointSlice(Struct, gc=False, rename="camel"):
    """discovery.k8s.io/v1 EndpointSlice."""

    metadata: Meta
    address_type: str = "IPv4"
    endpoints: list[Endpoint] | None = None
    ports: list[EndpointPort] | None = None


class ServiceImportSpec(Struct, gc=False, rename="camel"):
    """ServiceImportSpec: `type` is `ClusterSetIP` or `Headless`."""

    type: str = "ClusterSetIP"
    ips: list[str] | None = None
    ports: list[ServicePort] | None = None


class ServiceImport(Struct, gc=False, rename="camel"):
    """multicluster.x-k8s.io/v1alpha1 ServiceImport (KEP-1645)."""

    metadata: Meta
    spec: ServiceImportSpec = field(default_factory=ServiceImportSpec)


class PodStatus(Struct, gc=False, rename="camel"):
    """PodStatus."""

    pod_ip: str = field(default="", name="podIP")


class Pod(Struct, gc=False, rename="camel"):
    """v1 Pod."""

    metadata: Meta
    status: PodStatus = field(default_factory=PodStatus)


class Namespace(Struct, gc=False, rename="camel"):
    """v1 Namespace."""

    metadata: Meta


Object: TypeAlias = Service | EndpointSlice | Pod | Namespace | ServiceImport
"""Any object that DNS follows."""
