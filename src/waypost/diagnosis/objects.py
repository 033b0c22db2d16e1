"""The kinds that the checks look at, with the fields they look at; every other field is skipped.

Field names and defaults are those of the Kubernetes API, in snake case.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, field

from waypost.diagnosis.workloads import DaemonSet, Deployment, Meta, Pod
from waypost.manifests.model import EndpointSlice, Protocol, Service


class Namespace(Struct):
    """v1 Namespace."""

    metadata: Meta


class Requirement(Struct):
    """LabelSelectorRequirement."""

    key: str
    operator: str
    values: list[str] = []


class LabelSelector(Struct, rename="camel"):
    """LabelSelector; an empty one selects everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class ConfigMap(Struct):
    """v1 ConfigMap."""

    metadata: Meta
    data: dict[str, str] = {}


class NodeInfo(Struct, rename="camel"):
    """NodeSystemInfo."""

    kubelet_version: str = ""


class NodeAddress(Struct):
    """NodeAddress."""

    type: str = ""
    address: str = ""


class NodeStatus(Struct, rename="camel"):
    """NodeStatus."""

    node_info: NodeInfo = field(default_factory=NodeInfo)
    addresses: list[NodeAddress] = []


class Node(Struct):
    """v1 Node."""

    metadata: Meta
    status: NodeStatus = field(default_factory=NodeStatus)


class IPBlock(Struct):
    """IPBlock: a CIDR without those inside it that `except` names."""

    cidr: str
    excepted: list[str] = field(default_factory=list, name="except")


class Peer(Struct, rename="camel"):
    """NetworkPolicyPeer: an absent selector is not an empty one."""

    pod_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    ip_block: IPBlock | None = None


class PolicyPort(Struct, rename="camel"):
    """NetworkPolicyPort: without a port every port of the protocol is meant."""

    protocol: Protocol = "TCP"
    port: int | str | None = None
    end_port: int | None = None


class EgressRule(Struct):
    """NetworkPolicyEgressRule: no peers or no ports mean all."""

    to: list[Peer] = []
    ports: list[PolicyPort] = []


class IngressRule(Struct):
    """NetworkPolicyIngressRule."""

    peers: list[Peer] = field(default_factory=list, name="from")
    ports: list[PolicyPort] = []


class NetworkPolicySpec(Struct, rename="camel"):
    """NetworkPolicySpec."""

    pod_selector: LabelSelector = field(default_factory=LabelSelector)
    policy_types: list[str] = []
    egress: list[EgressRule] = []
    ingress: list[IngressRule] = []


class NetworkPolicy(Struct):
    """networking.k8s.io/v1 NetworkPolicy."""

    metadata: Meta
    spec: NetworkPolicySpec = field(default_factory=NetworkPolicySpec)


class DisruptionBudgetSpec(Struct, rename="camel"):
    """PodDisruptionBudgetSpec."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudget(Struct):
    """policy/v1 PodDisruptionBudget."""

    metadata: Meta
    spec: DisruptionBudgetSpec = field(default_factory=DisruptionBudgetSpec)


class PolicyRule(Struct, rename="camel"):
    """PolicyRule."""

    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []


class ClusterRole(Struct):
    """rbac.authorization.k8s.io/v1 ClusterRole."""

    metadata: Meta
    rules: list[PolicyRule] = []


class Subject(Struct):
    """Subject."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class RoleRef(Struct):
    """RoleRef."""

    name: str = ""


class ClusterRoleBinding(Struct, rename="camel"):
    """rbac.authorization.k8s.io/v1 ClusterRoleBinding."""

    metadata: Meta
    role_ref: RoleRef = field(default_factory=RoleRef)
    subjects: list[Subject] = []


class InvolvedObject(Struct):
    """ObjectReference."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class Event(Struct, rename="camel"):
    """v1 Event."""

    metadata: Meta
    involved_object: InvolvedObject = field(default_factory=InvolvedObject)
    reason: str = ""
    message: str = ""


Object: TypeAlias = (
    Service
    | EndpointSlice
    | Namespace
    | Pod
    | Deployment
    | DaemonSet
    | ConfigMap
    | Node
    | NetworkPolicy
    | PodDisruptionBudget
    | ClusterRole
    | ClusterRoleBinding
    | Event
)

GROUP_OF_KIND: dict[type[Object], str] = {
    Service: "",
    EndpointSlice: "discovery.k8s.io",
    Namespace: "",
    Pod: "",
    Deployment: "apps",
    DaemonSet: "apps",
    ConfigMap: "",
    Node: "",
    NetworkPolicy: "networking.k8s.io",
    PodDisruptionBudget: "policy",
    ClusterRole: "rbac.authorization.k8s.io",
    ClusterRoleBinding: "rbac.authorization.k8s.io",
    Event: "",
}
KINDS: dict[str, type[Object]] = {kind.__name__: kind for kind in GROUP_OF_KIND}
"""Kind -> its struct. A kind of the same name in another API group is a different thing."""
CLUSTER_WIDE: frozenset[type[Object]] = frozenset((Namespace, Node, ClusterRole, ClusterRoleBinding))
"""The kinds that are in no namespace."""
