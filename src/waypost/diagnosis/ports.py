"""The ports of the DNS Service, and the addresses it has."""

from __future__ import annotations

from typing import Final

from waypost.diagnosis.workloads import Pod
from waypost.manifests.model import Service, ServicePort

PORT: Final = 53
PROTOCOLS: Final = ("UDP", "TCP")


def cluster_ips(service: Service) -> list[str]:
    """The Service's addresses, none for a headless one."""
    found = service.spec.cluster_ips or [service.spec.cluster_ip]
    return [str(ip) for ip in found if ip not in ("", "None")]


def target_port(port: ServicePort, pod: Pod) -> int:
    """Where a pod is asked: 0 if the target is a name that no container port of the protocol has."""
    target = port.target_port or port.port
    if isinstance(target, int):
        return target
    for container in pod.spec.containers:
        for each in container.ports:
            if (each.name, each.protocol) == (target, port.protocol):
                return each.container_port
    return 0
