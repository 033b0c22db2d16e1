"""Everything that the checks judge, or in its place why it could not be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from waypost.diagnosis.finding import Gap, Maybe, Unknown, known
from waypost.diagnosis.objects import Namespace, Object
from waypost.diagnosis.workloads import Deployment, Pod
from waypost.manifests.model import Service
from waypost.podside.policy import Kubelet

ObjectT = TypeVar("ObjectT", bound=Object)

NOT_ASKED = Gap("not looked for")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The objects by kind. `service` is namespace and name of the DNS Service.

    `clients` restricts the client pods to a namespace and, if not empty, one name; `problems` are sentences about what
    could not be read; `version` is the API server's gitVersion.
    """

    objects: Mapping[type[Any], Maybe[Sequence[Any]]] = field(default_factory=dict)
    service: tuple[str, str] = ("kube-system", "kube-dns")
    clients: tuple[str, str] = ("", "")
    problems: Sequence[str] = ()
    version: Maybe[str] = NOT_ASKED

    @property
    def namespace(self) -> str:
        """That of the DNS Service and its pods."""
        return self.service[0]

    def all(self, kind: type[ObjectT]) -> Sequence[ObjectT]:
        """Every object of a kind. Raises Unknown if they could not be read."""
        found: Maybe[Sequence[ObjectT]] = self.objects.get(kind, NOT_ASKED)
        if isinstance(found, Gap):
            raise Unknown(f"{kind.__name__} objects: {found.reason}")
        return found

    def here(self, kind: type[ObjectT]) -> list[ObjectT]:
        """Those in the namespace of the DNS Service. Raises Unknown."""
        return [each for each in self.all(kind) if each.metadata.namespace == self.namespace]

    def dns_service(self) -> Service:
        """The Service that pods ask. Raises Unknown if there is none."""
        for each in self.all(Service):
            if (each.metadata.namespace, each.metadata.name) == self.service:
                return each
        raise Unknown(f"there is no Service {'/'.join(self.service)}")

    def dns_pods(self) -> list[Pod]:
        """Those that the Service selects and that are not on their way out. Raises Unknown."""
        selector = self.dns_service().spec.selector
        if not selector:
            raise Unknown(f"Service {'/'.join(self.service)} has no selector")
        return [pod for pod in self.here(Pod) if is_alive(pod) and selector.items() <= pod.metadata.labels.items()]

    def dns_deployments(self) -> list[Deployment]:
        """Those whose pods the Service selects. Raises Unknown."""
        selector = self.dns_service().spec.selector
        return [
            each
            for each in self.here(Deployment)
            if selector and selector.items() <= each.spec.template.metadata.labels.items()
        ]

    def client_pods(self) -> list[Pod]:
        """The pods that ask. Raises Unknown, also if `clients` names one that is not there."""
        namespace, name = self.clients
        pods = [
            pod
            for pod in self.all(Pod)
            if is_alive(pod) and namespace in ("", pod.metadata.namespace) and name in ("", pod.metadata.name)
        ]
        if not pods and name:
            raise Unknown(f"there is no running Pod {namespace}/{name}")
        return pods

    def namespace_labels(self) -> dict[str, dict[str, str]]:
        """The labels of each namespace, with the one that the API server always sets. Raises Unknown."""
        return {
            each.metadata.name: {"kubernetes.io/metadata.name": each.metadata.name} | each.metadata.labels
            for each in self.all(Namespace)
        }


def is_alive(pod: Pod) -> bool:
    """Not completed, not failed, not being deleted."""
    return pod.status.phase not in ("Succeeded", "Failed") and not pod.metadata.deletion_timestamp


def addresses_of(pod: Pod) -> list[str]:
    """The pod's IPs."""
    return list(dict.fromkeys(ip for ip in (pod.status.pod_ip, *(each.ip for each in pod.status.pod_ips)) if ip))


class NodeText(NamedTuple):
    """A file of a node: where it was read, and its content."""

    path: str
    content: bytes

    @property
    def text(self) -> str:
        """The content; bytes that are not UTF-8 are kept as surrogates."""
        return self.content.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Files of one node. `resolv_conf` is the one that its kubelet hands to pods."""

    kubelet: Maybe[Kubelet] = NOT_ASKED
    resolv_conf: Maybe[NodeText] = NOT_ASKED
    resolved_uplinks: Maybe[NodeText] = NOT_ASKED
    """/run/systemd/resolve/resolv.conf."""
    conntrack: Maybe[NodeText] = NOT_ASKED
    """/proc/net/stat/nf_conntrack."""
    conntrack_count: Maybe[NodeText] = NOT_ASKED
    conntrack_max: Maybe[NodeText] = NOT_ASKED


class Advice(NamedTuple):
    """What `waypost check` advises about a Corefile; `grave` if answers are wrong, late or at risk without it."""

    code: str
    place: str
    text: str
    remedy: str
    grave: bool


@dataclass(frozen=True, slots=True)
class Configuration:
    """What setting up the Corefile gave. `source` is the ConfigMap and key it came from.

    Without `errors` a server would start with it. `directives` are those of all server blocks, `zones` those of
    `kubernetes` (`cluster.local`), `upstreams` the TO arguments of `forward` in file order.
    """

    source: str
    errors: tuple[str, ...] = ()
    directives: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()
    upstreams: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()


class Probe(NamedTuple):
    """One question asked from here. `error` is empty if an answer came, after `seconds`."""

    address: str
    transport: str
    seconds: float
    rcode: str = ""
    error: str = ""


class Probes(NamedTuple):
    """What was asked, and in a sentence each what could not be."""

    probes: tuple[Probe, ...]
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. `logs` holds log text by (pod, container); `now` is when the facts were collected."""

    cluster: Maybe[Cluster] = NOT_ASKED
    node: Maybe[NodeFiles] = NOT_ASKED
    own_resolv_conf: Maybe[NodeText] = NOT_ASKED
    """That of the pod in which this runs."""
    configuration: Maybe[Configuration] = NOT_ASKED
    logs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    upstreams: Maybe[Probes] = NOT_ASKED
    service_answers: Maybe[Probes] = NOT_ASKED
    now: Maybe[datetime] = NOT_ASKED

    def objects(self) -> Cluster:
        """The cluster's objects. Raises Unknown."""
        return known(self.cluster)

    def node_files(self) -> NodeFiles:
        """The node's files. Raises Unknown."""
        return known(self.node)
