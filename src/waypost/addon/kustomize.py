"""A kustomize base of the server and components for what may stand beside it, as files."""

from __future__ import annotations

from typing import Final

from waypost.addon import autoscaler, monitoring, nodelocal, server
from waypost.addon.nodelocal import Mode, NodeLocal
from waypost.addon.printing import documents, to_yaml
from waypost.addon.settings import Json, Settings
from waypost.observability.rules import rule_groups

_NOTE: Final = "# Made by `waypost manifests --kustomize FOLDER`: change your overlay, not this file.\n"
_NODE_LOCAL: Final[dict[str, Mode]] = {
    "node-local": "iptables",
    "node-local-ipvs": "ipvs",
    "node-local-cilium": "cilium",
}


def kustomize_files(image: str) -> dict[str, str]:
    """Path to text: `base`, and the components `autoscaler`, `node-local*`, `service-monitor`,
    `observability`."""
    settings = Settings(image)
    files = _folder(
        "base",
        "Kustomization",
        {
            "access.yaml": server.access(settings),
            "config.yaml": [server.config_map(settings)],
            "deployment.yaml": [server.deployment(settings)],
            "service.yaml": [server.service(settings)],
            "disruption.yaml": [server.disruption(settings)],
        },
    )
    files |= _folder(
        "autoscaler",
        "Component",
        {"autoscaler.yaml": autoscaler.objects(settings)},
        [_without_replicas(settings)],
    )
    for folder, mode in _NODE_LOCAL.items():
        files |= _folder(folder, "Component", {"node-local.yaml": nodelocal.objects(settings, NodeLocal(mode))})
    monitor = monitoring.service_monitor(settings, settings.name, settings.app)
    files |= _folder("service-monitor", "Component", {"service-monitor.yaml": [monitor]})
    return files | _observability(settings)


def _observability(settings: Settings) -> dict[str, str]:
    """Rules and dashboard for the operators, and the same as files for a Prometheus and a Grafana without them."""
    folder = _folder("observability", "Component", {"prometheus-rule.yaml": [monitoring.prometheus_rule(settings)]})
    generated: Json = {
        "configMapGenerator": [
            {
                "name": monitoring.DASHBOARD_NAME,
                "namespace": settings.namespace,
                "files": [monitoring.DASHBOARD_FILE],
                "options": {"labels": monitoring.DASHBOARD_LABELS, "disableNameSuffixHash": True},
            }
        ]
    }
    folder["observability/kustomization.yaml"] += to_yaml(generated)
    return folder | {
        "observability/rules.yaml": _NOTE + to_yaml(rule_groups()),
        f"observability/{monitoring.DASHBOARD_FILE}": monitoring.dashboard_text(),
    }


def _folder(
    folder: str, kind: str, resources: dict[str, list[Json]], patches: list[Json] | None = None
) -> dict[str, str]:
    version = "v1beta1" if kind == "Kustomization" else "v1alpha1"
    kustomization: Json = {
        "apiVersion": f"kustomize.config.k8s.io/{version}",
        "kind": kind,
        "resources": list(resources),
    }
    if patches:
        kustomization["patches"] = patches
    files = {f"{folder}/{name}": _NOTE + documents(found) for name, found in resources.items()}
    return {f"{folder}/kustomization.yaml": _NOTE + to_yaml(kustomization), **files}


def _without_replicas(settings: Settings) -> Json:
    """The number is the autoscaler's: an overlay that is applied again must not set it back."""
    return {
        "target": {"kind": "Deployment", "name": settings.name},
        "patch": "- op: remove\n  path: /spec/replicas\n",
    }
