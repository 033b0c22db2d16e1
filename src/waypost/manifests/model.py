"""The kinds of manifests that matter to DNS, with the fields that matter; everything else is skipped while reading.

Field names and defaults are those of the Kubernetes API. Fields that the API server fills in (addresses, status) are
optional: where they are present the object is used as it is.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta as Limits
from msgspec import Struct, field

LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(?:\.{LABEL})*"
MAX_REPLICAS = 10_000  # a slip of the finger must not cost the server's memory

DnsLabel: TypeAlias = Annotated[str, Limits(pattern=rf"^{LABEL}\Z", max_length=63)]
OptionalLabel: TypeAlias = Annotated[str, Limits(pattern=rf"^(?:{LABEL})?\Z", max_length=63)]
DnsSubdomain: TypeAlias = Annotated[str, Limits(pattern=rf"^{SUBDOMAIN}\Z", max_length=253)]
OptionalDnsName: TypeAlias = Annotated[str, Limits(pattern=rf"^(?:{SUBDOMAIN}\.?)?\Z", max_length=254)]
PortNumber: TypeAlias = Annotated[int, Limits(ge=1, le=65535)]
Count: TypeAlias = Annotated[int, Limits(ge=0, le=MAX_REPLICAS)]
Protocol: TypeAlias = Annotated[str, Limits(pattern=r"^(TCP|UDP|SCTP)\Z")]
IPFamily: TypeAlias = Annotated[str, Limits(pattern=r"^(IPv4|IPv6)\Z")]
IPFamilyPolicy: TypeAlias = Annotated[str, Limits(pattern=r"^(SingleStack|PreferDualStack|RequireDualStack)\Z")]
ServiceType: TypeAlias = Annotated[str, Limits(pattern=r"^(ClusterIP|NodePort|LoadBalancer|ExternalName)\Z")]
AddressType: TypeAlias = Annotated[str, Limits(pattern=r"^(IPv4|IPv6|FQDN)\Z")]
CompletionMode: TypeAlias = Annotated[str, Limits(pattern=r"^(NonIndexed|Indexed)\Z")]

WORDS_FOR_PATTERN = {
    rf"^{LABEL}\Z": "a DNS label (lower-case letters, digits and '-')",
    rf"^(?:{LABEL})?\Z": "a DNS label (lower-case letters, digits and '-')",
    rf"^{SUBDOMAIN}\Z": "a DNS name (lower-case letters, digits, '-' and '.')",
    rf"^(?:{SUBDOMAIN}\.?)?\Z": "a DNS name (lower-case letters, digits, '-' and '.')",
}
"""What a pattern asks for. A pattern that is missing here lists its alternatives: `^(TCP|UDP)\\Z`."""


class Address(str):
    """An IPv4 or IPv6 address in canonical text, or empty; `manifests.fields` checks it."""

    __slots__ = ()


class ClusterIP(str):
    """An address in canonical text, `None` (headless), or empty; `manifests.fields` checks it."""

    __slots__ = ()


class OwnerReference(Struct, rename="camel"):
    """OwnerReference: `controller` marks the one that makes and removes the object."""

    kind: str = ""
    name: str = ""
    controller: bool = False


class Meta(Struct, rename="camel"):
    """ObjectMeta."""

    name: DnsSubdomain
    namespace: OptionalLabel = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""
    owner_references: list[OwnerReference] = []


class LabelMeta(Meta):
    """ObjectMeta of a kind whose name becomes one label of a DNS name."""

    name: DnsLabel


class Namespace(Struct):
    """v1 Namespace."""

    metadata: LabelMeta


class ServicePort(Struct, rename="camel", omit_defaults=True):
    """ServicePort: `target_port` is a number, the name of a container port, or 0 for the same as `port`."""

    port: PortNumber
    name: str = ""
    protocol: Protocol = "TCP"
    target_port: int | str = 0


class Ingress(Struct, omit_defaults=True):
    """LoadBalancerIngress."""

    ip: Address = Address("")
    hostname: str = ""


class LoadBalancerStatus(Struct, omit_defaults=True):
    """LoadBalancerStatus."""

    ingress: list[Ingress] = []


class ServiceStatus(Struct, rename="camel", omit_defaults=True):
    """ServiceStatus."""

    load_balancer: LoadBalancerStatus = field(default_factory=LoadBalancerStatus)


class ServiceSpec(Struct, rename="camel", omit_defaults=True):
    """ServiceSpec."""

    type: ServiceType = "ClusterIP"
    cluster_ip: ClusterIP = field(default=ClusterIP(""), name="clusterIP")
    cluster_ips: list[ClusterIP] = field(default_factory=list, name="clusterIPs")
    ip_families: list[IPFamily] = []
    ip_family_policy: IPFamilyPolicy | None = None
    external_name: OptionalDnsName = ""
    external_ips: list[Address] = field(default_factory=list, name="externalIPs")
    ports: list[ServicePort] = []
    selector: dict[str, str] = {}
    publish_not_ready_addresses: bool = False


class Service(Struct):
    """v1 Service."""

    metadata: LabelMeta
    spec: ServiceSpec = field(default_factory=ServiceSpec)
    status: ServiceStatus = field(default_factory=ServiceStatus)


class Conditions(Struct, omit_defaults=True):
    """EndpointConditions: unset means ready."""

    ready: bool | None = None


class TargetRef(Struct, omit_defaults=True):
    """ObjectReference."""

    kind: str = ""
    name: str = ""


class Endpoint(Struct, rename="camel", omit_defaults=True):
    """One endpoint of a slice."""

    addresses: list[str]
    conditions: Conditions = field(default_factory=Conditions)
    hostname: OptionalLabel = ""
    node_name: str = ""
    zone: str = ""
    target_ref: TargetRef | None = None


class EndpointPort(Struct, omit_defaults=True):
    """EndpointPort: an unset port means all ports."""

    port: PortNumber | None = None
    name: str | None = None
    protocol: Protocol | None = None


class EndpointSlice(Struct, rename="camel"):
    """discovery.k8s.io/v1 EndpointSlice."""

    metadata: Meta
    address_type: AddressType = "IPv4"
    endpoints: list[Endpoint] = []
    ports: list[EndpointPort] = []


class EndpointAddress(Struct, rename="camel"):
    """EndpointAddress of the older Endpoints kind."""

    ip: Address
    hostname: OptionalLabel = ""
    node_name: str = ""
    target_ref: TargetRef | None = None


class EndpointSubset(Struct, rename="camel"):
    """EndpointSubset: every address has every port."""

    addresses: list[EndpointAddress] = []
    not_ready_addresses: list[EndpointAddress] = []
    ports: list[EndpointPort] = []


class Endpoints(Struct):
    """v1 Endpoints."""

    metadata: Meta
    subsets: list[EndpointSubset] = []


class ContainerPort(Struct, rename="camel"):
    """ContainerPort."""

    container_port: PortNumber
    name: str = ""
    protocol: Protocol = "TCP"


class Container(Struct, rename="camel"):
    """Container: `restart_policy` Always makes an init container a sidecar, whose ports count."""

    ports: list[ContainerPort] = []
    restart_policy: str = ""


class PodSpec(Struct, rename="camel"):
    """PodSpec."""

    containers: list[Container] = []
    init_containers: list[Container] = []
    hostname: OptionalLabel = ""
    subdomain: OptionalLabel = ""


class PodCondition(Struct):
    """PodCondition."""

    type: str = ""
    status: str = ""


class PodIP(Struct):
    """PodIP."""

    ip: Address = Address("")


class PodStatus(Struct, rename="camel"):
    """PodStatus: empty in a plain manifest."""

    phase: str = ""
    pod_ip: Address = field(default=Address(""), name="podIP")
    pod_ips: list[PodIP] = field(default_factory=list, name="podIPs")
    conditions: list[PodCondition] = []


class Pod(Struct):
    """v1 Pod."""

    metadata: Meta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class TemplateMeta(Struct):
    """ObjectMeta of a pod template: it has no name."""

    labels: dict[str, str] = {}


class PodTemplate(Struct):
    """PodTemplateSpec."""

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: PodSpec = field(default_factory=PodSpec)


class ReplicaSpec(Struct):
    """Spec of a workload that keeps a number of equal pods."""

    replicas: Count = 1
    template: PodTemplate = field(default_factory=PodTemplate)


class ReplicaStatus(Struct, rename="camel"):
    """Its status: empty in a plain manifest; the API leaves `ready_replicas` out when it is 0."""

    replicas: int | None = None
    ready_replicas: Count | None = None
    observed_generation: int | None = None


class Deployment(Struct):
    """apps/v1 Deployment; ReplicaSet and ReplicationController have the same fields."""

    metadata: Meta
    spec: ReplicaSpec = field(default_factory=ReplicaSpec)
    status: ReplicaStatus = field(default_factory=ReplicaStatus)


class ReplicaSet(Deployment):
    """apps/v1 ReplicaSet."""


class ReplicationController(Deployment):
    """v1 ReplicationController."""


class Ordinals(Struct):
    """StatefulSetOrdinals."""

    start: Annotated[int, Limits(ge=0, le=2**31 - 1)] = 0


class StatefulSetSpec(ReplicaSpec, rename="camel"):
    """StatefulSetSpec: `service_name` is the governing headless Service."""

    service_name: OptionalLabel = ""
    ordinals: Ordinals = field(default_factory=Ordinals)


class StatefulSet(Struct):
    """apps/v1 StatefulSet."""

    metadata: Meta
    spec: StatefulSetSpec = field(default_factory=StatefulSetSpec)
    status: ReplicaStatus = field(default_factory=ReplicaStatus)


class DaemonSetSpec(Struct):
    """DaemonSetSpec."""

    template: PodTemplate = field(default_factory=PodTemplate)


class DaemonSetStatus(Struct, rename="camel"):
    """DaemonSetStatus: empty in a plain manifest."""

    desired_number_scheduled: Count | None = None
    number_ready: Count | None = None


class DaemonSet(Struct):
    """apps/v1 DaemonSet."""

    metadata: Meta
    spec: DaemonSetSpec = field(default_factory=DaemonSetSpec)
    status: DaemonSetStatus = field(default_factory=DaemonSetStatus)


class JobSpec(Struct, rename="camel"):
    """JobSpec."""

    parallelism: Count = 1
    completions: Annotated[int, Limits(ge=0)] | None = None
    completion_mode: CompletionMode = "NonIndexed"
    suspend: bool = False
    template: PodTemplate = field(default_factory=PodTemplate)


class JobStatus(Struct):
    """JobStatus: `conditions` Complete and Failed end a job."""

    active: Count | None = None
    ready: Count | None = None
    succeeded: int = 0
    conditions: list[PodCondition] = []


class Job(Struct):
    """batch/v1 Job."""

    metadata: Meta
    spec: JobSpec = field(default_factory=JobSpec)
    status: JobStatus = field(default_factory=JobStatus)


Workload: TypeAlias = Deployment | StatefulSet | DaemonSet | Job
Manifest: TypeAlias = Namespace | Service | EndpointSlice | Endpoints | Pod | Workload

GROUP_OF_KIND: dict[type[Manifest], str] = {
    Namespace: "",
    Service: "",
    Endpoints: "",
    Pod: "",
    ReplicationController: "",
    EndpointSlice: "discovery.k8s.io",
    Deployment: "apps",
    ReplicaSet: "apps",
    StatefulSet: "apps",
    DaemonSet: "apps",
    Job: "batch",
}
KINDS: dict[str, type[Manifest]] = {kind.__name__: kind for kind in GROUP_OF_KIND}
"""Kind -> its struct. A kind of the same name in another API group is a different thing and is not read."""
