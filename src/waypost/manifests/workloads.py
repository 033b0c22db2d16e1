"""Workloads to pods: the names, labels, host names and readiness that their controllers would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from waypost.manifests.addresses import suffix
from waypost.manifests.documents import Document
from waypost.manifests.model import (
    DaemonSet,
    Deployment,
    Job,
    Manifest,
    PodSpec,
    PodTemplate,
    ReplicaSet,
    ReplicaStatus,
    ReplicationController,
    StatefulSet,
)
from waypost.manifests.model import Pod as PodManifest

MAX_LABEL = 63
FINISHED_PHASES = frozenset({"Succeeded", "Failed", "Unknown"})  # the pods that cluster DNS does not ask the API for

PortNames = Mapping[tuple[str, str], int]
"""(container port name, protocol) -> number."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as Services see it. `addresses` is None until one is assigned, and empty for a pod that has none yet."""

    document: Document
    name: str
    labels: Mapping[str, str]
    ports: PortNames
    hostname: str = ""
    subdomain: str = ""
    ready: bool = True
    finished: bool = False
    deletion_timestamp: str = ""
    addresses: tuple[str, ...] | None = None

    @property
    def namespace(self) -> str:
        return self.document.namespace

    @property
    def key(self) -> str:
        """What its address depends on."""
        return f"Pod/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells one pod of a workload from the next; an empty host name leaves the template's."""

    name: str
    hostname: str = ""
    subdomain: str = ""
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The pods a workload runs, of which the first `ready` are ready."""

    template: PodTemplate
    ready: int
    identities: list[Identity]


def pods_of(document: Document) -> Iterator[Pod]:
    """The pods of a workload, without addresses; the pod itself for a Pod; none for other kinds."""
    if isinstance(document.manifest, PodManifest):
        yield declared_pod(document, document.manifest)
        return
    plan = PLANS.get(type(document.manifest))
    if plan is None:
        return
    planned = plan(document.manifest)
    spec = planned.template.spec
    ports = port_names(spec)
    for place, identity in enumerate(planned.identities):
        yield Pod(
            document,
            identity.name,
            {**planned.template.metadata.labels, **(identity.labels or {})},
            ports,
            identity.hostname or spec.hostname,
            identity.subdomain or spec.subdomain,
            ready=place < planned.ready,
        )


def declared_pod(document: Document, manifest: PodManifest) -> Pod:
    """A Pod manifest: as it is when it has a status, a running pod without an address when it has none."""
    status = manifest.status
    reported = bool(status.phase or status.pod_ip or status.conditions)
    given = tuple(dict.fromkeys(str(ip) for ip in (status.pod_ip, *(item.ip for item in status.pod_ips)) if ip))
    ready = next((condition.status == "True" for condition in status.conditions if condition.type == "Ready"), True)
    return Pod(
        document,
        manifest.metadata.name,
        manifest.metadata.labels,
        port_names(manifest.spec),
        manifest.spec.hostname,
        manifest.spec.subdomain,
        ready=ready and not manifest.metadata.deletion_timestamp,
        finished=status.phase in FINISHED_PHASES,
        deletion_timestamp=manifest.metadata.deletion_timestamp,
        addresses=given if reported else None,
    )


def port_names(spec: PodSpec) -> PortNames:
    """Named ports of the containers and of the sidecars among the init containers; the first of a name counts."""
    sidecars = [container for container in spec.init_containers if container.restart_policy == "Always"]
    ports = [port for container in (*spec.containers, *sidecars) for port in container.ports if port.name]
    return {(port.name, port.protocol): port.container_port for port in reversed(ports)}


def ready_replicas(status: ReplicaStatus, wanted: int) -> int:
    """All of them in a plain manifest; in one with a status what it says, where absent means none."""
    reported = any(field is not None for field in (status.replicas, status.ready_replicas, status.observed_generation))
    return min(status.ready_replicas or 0, wanted) if reported else wanted


def numbered(prefix: str, count: int) -> list[Identity]:
    """`count` identities with generated names, each the same whatever the count."""
    return [Identity(f"{prefix}-{suffix(f'{prefix}/{place}', 5)}") for place in range(count)]


def plan_replica_set(manifest: Deployment) -> Plan:
    """ReplicaSet and ReplicationController."""
    count = manifest.spec.replicas
    identities = numbered(manifest.metadata.name, count)
    return Plan(manifest.spec.template, ready_replicas(manifest.status, count), identities)


def plan_deployment(manifest: Deployment) -> Plan:
    """Deployment: the pods carry the name of a ReplicaSet in between."""
    count = manifest.spec.replicas
    identities = numbered(f"{manifest.metadata.name}-{suffix(manifest.metadata.name, 10)}", count)
    return Plan(manifest.spec.template, ready_replicas(manifest.status, count), identities)


def plan_stateful_set(manifest: StatefulSet) -> Plan:
    """StatefulSet: `db-0`, `db-1`, ... under the governing Service `spec.serviceName`."""
    count, start = manifest.spec.replicas, manifest.spec.ordinals.start
    identities = []
    for ordinal in range(start, start + count):
        name = f"{manifest.metadata.name}-{ordinal}"
        labels = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
        identities.append(Identity(name, host_label(name), manifest.spec.service_name, labels))
    return Plan(manifest.spec.template, ready_replicas(manifest.status, count), identities)


def plan_daemon_set(manifest: DaemonSet) -> Plan:
    """DaemonSet: a pod for each node; a plain manifest stands on one node."""
    status = manifest.status
    count = 1 if status.desired_number_scheduled is None else status.desired_number_scheduled
    ready = count if status.desired_number_scheduled is None else min(status.number_ready or 0, count)
    return Plan(manifest.spec.template, ready, numbered(manifest.metadata.name, count))


def plan_job(manifest: Job) -> Plan:
    """Job: the pods that run now; the pods of an Indexed job have `<job>-<index>` as host name."""
    spec, status, name = manifest.spec, manifest.status, manifest.metadata.name
    left = spec.parallelism if spec.completions is None else max(spec.completions - status.succeeded, 0)
    ended = any(item.type in ("Complete", "Failed") and item.status == "True" for item in status.conditions)
    count = 0 if ended or spec.suspend else min(spec.parallelism, left)
    if status.active is not None:
        count = status.active
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    if spec.completion_mode != "Indexed":
        identities = [Identity(item.name, labels=labels) for item in numbered(name, count)]
    else:
        identities = [
            Identity(
                f"{name}-{index}-{suffix(f'{name}/{index}', 5)}",
                host_label(f"{name}-{index}"),
                labels=labels | {"batch.kubernetes.io/job-completion-index": str(index)},
            )
            for index in range(count)
        ]
    ready = count if status.active is None else min(status.ready or 0, count)
    return Plan(spec.template, ready, identities)


def host_label(name: str) -> str:
    """`name` where it can be one label of a DNS name."""
    return name if len(name) <= MAX_LABEL and "." not in name else ""


PLANS: dict[type[Manifest], Callable[[Any], Plan]] = {
    Deployment: plan_deployment,
    ReplicaSet: plan_replica_set,
    ReplicationController: plan_replica_set,
    StatefulSet: plan_stateful_set,
    DaemonSet: plan_daemon_set,
    Job: plan_job,
}
