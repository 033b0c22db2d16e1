"""Where the API server, or a dump of it, has each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from waypost.diagnosis.events import REASONS
from waypost.diagnosis.objects import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    Event,
    Namespace,
    NetworkPolicy,
    Node,
    Object,
    PodDisruptionBudget,
)
from waypost.diagnosis.workloads import DaemonSet, Deployment, Pod
from waypost.manifests.model import EndpointSlice, Service


class Resource(NamedTuple):
    """The API's prefix and the plural name. `near` asks in the namespace of the DNS Service only.

    `queries` are the parameters of each request that it takes.
    """

    prefix: str
    plural: str
    near: bool = False
    queries: tuple[Mapping[str, str], ...] = ({},)

    def path(self, namespace: str) -> str:
        """Where to list it."""
        return f"{self.prefix}/namespaces/{namespace}/{self.plural}" if self.near else f"{self.prefix}/{self.plural}"


_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

RESOURCES: Final[Mapping[type[Any], Resource]] = {
    Service: Resource("/api/v1", "services"),
    EndpointSlice: Resource("/apis/discovery.k8s.io/v1", "endpointslices", near=True),
    Namespace: Resource("/api/v1", "namespaces"),
    Pod: Resource("/api/v1", "pods"),
    Deployment: Resource("/apis/apps/v1", "deployments", near=True),
    DaemonSet: Resource("/apis/apps/v1", "daemonsets", near=True),
    ConfigMap: Resource("/api/v1", "configmaps", near=True),
    Node: Resource("/api/v1", "nodes"),
    NetworkPolicy: Resource("/apis/networking.k8s.io/v1", "networkpolicies"),
    PodDisruptionBudget: Resource("/apis/policy/v1", "poddisruptionbudgets", near=True),
    ClusterRole: Resource(_RBAC, "clusterroles"),
    ClusterRoleBinding: Resource(_RBAC, "clusterrolebindings"),
    Event: Resource("/api/v1", "events", queries=tuple({"fieldSelector": f"reason={reason}"} for reason in REASONS)),
}


def kind_of_plural(plural: str) -> type[Object] | None:
    """The kind of a plural name."""
    return next((kind for kind, resource in RESOURCES.items() if resource.plural == plural), None)
