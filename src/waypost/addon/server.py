"""The cluster DNS server: ConfigMap, Deployment, Service, PodDisruptionBudget.

Names, labels, ports, probes and resources are those of kubeadm's CoreDNS add-on, so that `kubectl apply` changes that
Deployment into this one pod by pod, and tools that look for it find it. On top of it: a user that is not root, the
runtime's seccomp profile, a spread over zones, and a budget for disruptions.
"""

from __future__ import annotations

from typing import Final

from waypost.addon.access import cluster_role, cluster_role_binding, reading_rules, service_account
from waypost.addon.settings import Json, Settings

COREFILE_FOLDER: Final = "/etc/coredns"
CONFIG_VOLUME: Final = "config-volume"
USER: Final = 65532
"""Who runs the image."""
# Bench figures: 83 MiB resident through a relist of 10,000 Services with 100,000 endpoints, 115 MiB with 100,000 pods.
RESOURCES: Final[Json] = {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}}
_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"


def objects(settings: Settings) -> list[Json]:
    """Everything, in an order in which each object finds those that it names."""
    return [*access(settings), config_map(settings), deployment(settings), service(settings), disruption(settings)]


def access(settings: Settings) -> list[Json]:
    """ServiceAccount, and the right to read what the Corefile serves."""
    role_name = f"system:{settings.name}"
    return [
        service_account(settings, settings.name),
        cluster_role(role_name, reading_rules(settings.needs.reads)),
        cluster_role_binding(settings, role_name, settings.name),
    ]


def config_map(settings: Settings) -> Json:
    """ConfigMap with the Corefile."""
    metadata = settings.metadata(settings.name)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"Corefile": settings.corefile}}


def service(settings: Settings) -> Json:
    """Service `kube-dns`; with one address as kubeadm writes it, with two of both families."""
    labels = {
        **settings.selector,
        "kubernetes.io/cluster-service": "true",
        "kubernetes.io/name": "CoreDNS",
    }
    metadata = settings.metadata("kube-dns", **labels)
    dns_port, metrics_port = settings.needs.dns_port, settings.needs.metrics_port
    ports: list[Json] = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": dns_port},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": dns_port},
    ]
    if metrics_port is not None:
        metadata["annotations"] = {"prometheus.io/port": str(metrics_port), "prometheus.io/scrape": "true"}
        ports.append({"name": "metrics", "port": metrics_port, "protocol": "TCP", "targetPort": metrics_port})
    spec: Json = {"clusterIP": settings.addresses[0]}
    if len(settings.addresses) > 1:
        spec |= {"clusterIPs": list(settings.addresses), "ipFamilyPolicy": "RequireDualStack"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {**spec, "ports": ports, "selector": settings.selector},
    }


def disruption(settings: Settings) -> Json:
    """PodDisruptionBudget: one pod at a time, also when there is only one, so that it never blocks a drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": settings.metadata(settings.name, **settings.selector),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": settings.selector}},
    }


def deployment(settings: Settings) -> Json:
    """Deployment of the server."""
    replicas = {} if settings.replicas is None else {"replicas": settings.replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": settings.metadata(settings.name, **settings.selector),
        "spec": {
            **replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": settings.selector},
            "template": {"metadata": {"labels": settings.selector}, "spec": _pod(settings)},
        },
    }


def _pod(settings: Settings) -> Json:
    hosts: Json = {"labelSelector": {"matchLabels": settings.selector}, "topologyKey": "kubernetes.io/hostname"}
    zones: Json = {
        "labelSelector": {"matchLabels": settings.selector},
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
    }
    config: Json = {"name": settings.name, "items": [{"key": "Corefile", "path": "Corefile"}]}
    return {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": settings.name,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        # Soft, so that a cluster with one free node still gets its second replica.
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": hosts}]
            }
        },
        "topologySpreadConstraints": [zones],
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": _CONTROL_PLANE, "effect": "NoSchedule"},
        ],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "dnsPolicy": "Default",
        "terminationGracePeriodSeconds": settings.needs.grace_seconds,
        "containers": [_container(settings)],
        "volumes": [{"name": CONFIG_VOLUME, "configMap": config}],
    }


def _container(settings: Settings) -> Json:
    """Its name is CoreDNS's, too: another one would join it in the pod instead of taking its place."""
    return {
        "name": "coredns",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", f"{COREFILE_FOLDER}/Corefile"],
        "resources": RESOURCES,
        "ports": _ports(settings),
        **_probes(settings),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
        },
        "volumeMounts": [{"name": CONFIG_VOLUME, "mountPath": COREFILE_FOLDER, "readOnly": True}],
    }


def _ports(settings: Settings) -> list[Json]:
    needs = settings.needs
    named = (
        ("dns", needs.dns_port, "UDP"),
        ("dns-tcp", needs.dns_port, "TCP"),
        ("metrics", needs.metrics_port, "TCP"),
        ("liveness-probe", needs.health_port, "TCP"),
        ("readiness-probe", needs.ready_port, "TCP"),
    )
    return [
        {"name": name, "containerPort": port, "protocol": protocol}
        for name, port, protocol in named
        if port is not None
    ]


def _probes(settings: Settings) -> Json:
    probes: Json = {}
    if settings.needs.health_port is not None:
        probes["livenessProbe"] = {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        }
    if settings.needs.ready_port is not None:
        probes["readinessProbe"] = {"httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}}
    return probes
