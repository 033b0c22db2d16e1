"""Pods, and the workloads that make them, with the fields that the checks look at; every other is skipped.

Field names and defaults are those of the Kubernetes API, in snake case.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from waypost.manifests.model import OwnerReference, PodCondition, PortNumber, Protocol


class ManagedFields(Struct, rename="camel"):
    """ManagedFieldsEntry: who last set which fields, and when."""

    time: str = ""
    fields: dict[str, Any] = field(default_factory=dict, name="fieldsV1")


class Meta(Struct, rename="camel"):
    """ObjectMeta."""

    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: list[OwnerReference] = []
    managed_fields: list[ManagedFields] = []


class ConfigMapItem(Struct):
    """KeyToPath: which key becomes which file."""

    key: str
    path: str


class ConfigMapVolume(Struct):
    """ConfigMapVolumeSource, or a source of a projected volume."""

    name: str = ""
    items: list[ConfigMapItem] = []


class ProjectedSource(Struct, rename="camel"):
    """VolumeProjection."""

    config_map: ConfigMapVolume | None = None


class ProjectedVolume(Struct):
    """ProjectedVolumeSource."""

    sources: list[ProjectedSource] = []


class Volume(Struct, rename="camel"):
    """Volume."""

    name: str
    config_map: ConfigMapVolume | None = None
    projected: ProjectedVolume | None = None


class VolumeMount(Struct, rename="camel"):
    """VolumeMount."""

    name: str
    mount_path: str
    sub_path: str = ""


class EnvVar(Struct):
    """EnvVar; one with a valueFrom has no value here."""

    name: str
    value: str = ""


class ContainerPort(Struct, rename="camel"):
    """ContainerPort."""

    container_port: PortNumber
    name: str = ""
    protocol: Protocol = "TCP"


class Container(Struct, rename="camel"):
    """Container."""

    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    env: list[EnvVar] = []
    ports: list[ContainerPort] = []
    volume_mounts: list[VolumeMount] = []


class DnsOption(Struct):
    """PodDNSConfigOption."""

    name: str = ""
    value: str | None = None


class DnsConfig(Struct):
    """PodDNSConfig."""

    nameservers: list[str] = []
    searches: list[str] = []
    options: list[DnsOption] = []


class PodSpec(Struct, rename="camel"):
    """PodSpec."""

    containers: list[Container] = []
    volumes: list[Volume] = []
    node_name: str = ""
    host_network: bool = False
    dns_policy: str = ""
    dns_config: DnsConfig | None = None
    service_account_name: str = ""
    priority_class_name: str = ""


class Running(Struct, rename="camel"):
    """ContainerStateRunning."""

    started_at: str = ""


class Waiting(Struct):
    """ContainerStateWaiting."""

    reason: str = ""
    message: str = ""


class Terminated(Struct, rename="camel"):
    """ContainerStateTerminated."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str = ""


class ContainerState(Struct):
    """ContainerState: one of the three is set."""

    running: Running | None = None
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, rename="camel"):
    """ContainerStatus."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = field(default_factory=ContainerState)
    last_state: ContainerState = field(default_factory=ContainerState)


class PodIP(Struct):
    """PodIP."""

    ip: str = ""


class PodStatus(Struct, rename="camel"):
    """PodStatus."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    host_ip: str = field(default="", name="hostIP")
    pod_ip: str = field(default="", name="podIP")
    pod_ips: list[PodIP] = field(default_factory=list, name="podIPs")
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []


class Pod(Struct):
    """v1 Pod."""

    metadata: Meta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class TemplateMeta(Struct):
    """ObjectMeta of a pod template."""

    labels: dict[str, str] = {}


class PodTemplate(Struct):
    """PodTemplateSpec."""

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: PodSpec = field(default_factory=PodSpec)


class WorkloadSpec(Struct):
    """Spec of a Deployment or DaemonSet; the latter has no replicas."""

    replicas: int = 1
    template: PodTemplate = field(default_factory=PodTemplate)


class WorkloadStatus(Struct, rename="camel"):
    """Status of a Deployment (ready replicas) or DaemonSet (the others)."""

    ready_replicas: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0


class Workload(Struct):
    """What a Deployment and a DaemonSet have in common."""

    metadata: Meta
    spec: WorkloadSpec = field(default_factory=WorkloadSpec)
    status: WorkloadStatus = field(default_factory=WorkloadStatus)


class Deployment(Workload):
    """apps/v1 Deployment."""


class DaemonSet(Workload):
    """apps/v1 DaemonSet."""
