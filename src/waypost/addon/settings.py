"""What decides the objects: names, addresses, image, Corefile, and what that Corefile asks of its pod."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from waypost.corefile.stock import stock_corefile

Json: TypeAlias = dict[str, Any]
"""A Kubernetes object, or a part of one."""

DEFAULT_DOMAIN: Final = "cluster.local"
DEFAULT_SERVICE_CIDR: Final = "10.96.0.0/12"
DEFAULT_ADDRESS: Final = "10.96.0.10"
DEFAULT_REPLICAS: Final = 2
_DRAIN_SECONDS: Final = 25
"""What a stop may take after lameduck: queries that wait for upstream servers."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a Corefile asks of its pod. Ports are None for what it does not serve; lameduck is in seconds.

    `reads` are the resources that its kubernetes blocks list and watch, as RBAC names them: `group/plural`.
    """

    dns_port: int = 53
    health_port: int | None = 8080
    ready_port: int | None = 8181
    metrics_port: int | None = 9153
    lameduck: float = 5.0
    reads: tuple[str, ...] = ("/services", "/namespaces", "discovery.k8s.io/endpointslices")

    @property
    def grace_seconds(self) -> int:
        """For `terminationGracePeriodSeconds`."""
        return int(self.lameduck) + _DRAIN_SECONDS


@dataclass(frozen=True, slots=True)
class Settings:
    """Names are kubeadm's, so that the objects take the place of CoreDNS's.

    `addresses` are the cluster addresses of the Service, at most one of each family. `replicas` None leaves the
    number to the cluster, or to an autoscaler.
    """

    image: str
    addresses: tuple[str, ...] = (DEFAULT_ADDRESS,)
    corefile: str = stock_corefile(DEFAULT_DOMAIN)
    domain: str = DEFAULT_DOMAIN
    needs: Needs = field(default_factory=Needs)
    replicas: int | None = DEFAULT_REPLICAS
    name: str = "coredns"
    namespace: str = "kube-system"
    app: str = "kube-dns"
    """Value of the label `k8s-app`, by which the Service and everybody else finds the pods."""

    @property
    def selector(self) -> Json:
        """Labels of the pods."""
        return {"k8s-app": self.app}

    def metadata(self, name: str, **labels: str) -> Json:
        """Of an object in the namespace."""
        found: Json = {"name": name, "namespace": self.namespace}
        if labels:
            found["labels"] = labels
        return found
