"""The proportional autoscaler beside the server: `waypost autoscale` with its parameters and rights."""

from __future__ import annotations

import json
from typing import Final

from waypost.addon.access import cluster_role, cluster_role_binding, reading_rules, role, role_binding, service_account
from waypost.addon.server import USER
from waypost.addon.settings import Json, Settings

NAME: Final = "kube-dns-autoscaler"
PARAMS: Final[Json] = {
    "coresPerReplica": 256,
    "nodesPerReplica": 16,
    "preventSinglePointFailure": True,
    "includeUnschedulableNodes": True,
}
"""Kubernetes's own for cluster DNS."""
HOLD_SECONDS: Final = 300
PORT: Final = 8080
RESOURCES: Final[Json] = {"limits": {"memory": "100Mi"}, "requests": {"cpu": "20m", "memory": "50Mi"}}


def objects(settings: Settings) -> list[Json]:
    """Rights, parameters and the Deployment."""
    role_name = f"system:{NAME}"
    return [
        service_account(settings, NAME),
        cluster_role(role_name, reading_rules(["/nodes"])),
        cluster_role_binding(settings, role_name, NAME),
        role(settings, NAME, _rules(settings)),
        role_binding(settings, NAME),
        config_map(settings),
        deployment(settings),
    ]


def config_map(settings: Settings) -> Json:
    """ConfigMap with the parameters."""
    data = {"linear": json.dumps(PARAMS, indent=2) + "\n"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": settings.metadata(NAME), "data": data}


def _rules(settings: Settings) -> list[Json]:
    """In the namespace: the scale of the server's Deployment and nothing else of it."""
    return [
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale"],
            "resourceNames": [settings.name],
            "verbs": ["get", "patch"],
        },
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [NAME], "verbs": ["get"]},
        # What does not exist yet has no name that a rule could give.
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [NAME],
            "verbs": ["get", "update"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]


def deployment(settings: Settings) -> Json:
    """Deployment of the autoscaler; a second replica would wait for the lease of the first."""
    labels = {"k8s-app": NAME}
    probe = {"httpGet": {"path": "/healthz", "port": PORT, "scheme": "HTTP"}}
    container = {
        "name": "autoscaler",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            "autoscale",
            f"--namespace={settings.namespace}",
            f"--configmap={NAME}",
            f"--target=deployment/{settings.name}",
            f"--scale-down-hold-seconds={HOLD_SECONDS}",
            "--leader-elect",
        ],
        "resources": RESOURCES,
        "ports": [{"name": "metrics", "containerPort": PORT, "protocol": "TCP"}],
        "livenessProbe": {**probe, "initialDelaySeconds": 10, "timeoutSeconds": 5, "failureThreshold": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            # The image's interpreter has this one as a file capability and does not start where it is out of reach.
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": settings.metadata(NAME, **labels),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "priorityClassName": "system-cluster-critical",
                    "serviceAccountName": NAME,
                    "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                    "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "containers": [container],
                },
            },
        },
    }
