"""The alerts as Prometheus's rule groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from waypost.observability.alert import Alert
from waypost.observability.alerts_cluster import AUTOSCALER, CLUSTER, NODES
from waypost.observability.alerts_serving import ANSWERS, LIFE, THERE
from waypost.observability.alerts_upstreams import CACHE, UPSTREAMS

GROUPS: Final[Mapping[str, tuple[Alert, ...]]] = {
    "cluster-dns-there": THERE,
    "cluster-dns-answers": ANSWERS,
    "cluster-dns-life": LIFE,
    "cluster-dns-upstreams": UPSTREAMS,
    "cluster-dns-cache": CACHE,
    "cluster-dns-data": CLUSTER,
    "cluster-dns-autoscaler": AUTOSCALER,
    "cluster-dns-nodes": NODES,
}


def alerts() -> tuple[Alert, ...]:
    """All of them."""
    return tuple(alert for group in GROUPS.values() for alert in group)


def rule_groups() -> dict[str, Any]:
    """The content of a rule file, and of a PrometheusRule's `spec`."""
    return {"groups": [{"name": name, "rules": [_rule(alert) for alert in group]} for name, group in GROUPS.items()]}


def _rule(alert: Alert) -> dict[str, Any]:
    pending = {"for": f"{alert.minutes}m"} if alert.minutes else {}
    return {
        "alert": alert.name,
        "expr": alert.expr,
        **pending,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.meaning, "runbook": alert.page},
    }
