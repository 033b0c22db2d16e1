"""What Prometheus and Grafana find by their operators: ServiceMonitors, PrometheusRules, dashboards in ConfigMaps."""

from __future__ import annotations

import json
from typing import Final

from waypost.addon.settings import Json, Settings
from waypost.observability.dashboard import dashboard
from waypost.observability.rules import rule_groups

DASHBOARD_NAME: Final = "waypost-dashboard-cluster-dns"
DASHBOARD_FILE: Final = "cluster-dns.json"
DASHBOARD_LABELS: Final = {"grafana_dashboard": "1"}
"""The label by which Grafana's sidecar finds dashboards, with its default value."""
_OPERATOR: Final = "monitoring.coreos.com/v1"


def service_monitor(settings: Settings, name: str, app: str) -> Json:
    """ServiceMonitor (Prometheus operator) of the Service with label `k8s-app: app`, port `metrics`."""
    return {
        "apiVersion": _OPERATOR,
        "kind": "ServiceMonitor",
        "metadata": settings.metadata(name, **{"k8s-app": app}),
        "spec": {
            "endpoints": [{"port": "metrics", "interval": "30s"}],
            "namespaceSelector": {"matchNames": [settings.namespace]},
            "selector": {"matchLabels": {"k8s-app": app}},
        },
    }


def prometheus_rule(settings: Settings) -> Json:
    """PrometheusRule (Prometheus operator) with every alert."""
    metadata = settings.metadata(settings.name, **settings.selector)
    return {"apiVersion": _OPERATOR, "kind": "PrometheusRule", "metadata": metadata, "spec": rule_groups()}


def dashboard_map(settings: Settings) -> Json:
    """ConfigMap with the dashboard."""
    metadata = settings.metadata(DASHBOARD_NAME, **DASHBOARD_LABELS)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {DASHBOARD_FILE: dashboard_text()}}


def dashboard_text() -> str:
    """The dashboard as JSON."""
    return json.dumps(dashboard(), indent=2) + "\n"
