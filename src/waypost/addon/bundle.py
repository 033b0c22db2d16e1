"""Which objects there are in all, by what was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from waypost.addon import autoscaler, monitoring, nodelocal, server
from waypost.addon.nodelocal import NodeLocal
from waypost.addon.settings import Json, Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """What to make."""

    server: bool = True
    autoscaler: bool = False
    node_local: NodeLocal | None = None
    service_monitor: bool = False
    prometheus_rules: bool = False
    dashboards: bool = False


def objects(settings: Settings, parts: Parts) -> list[Json]:
    """All of them, ready to be applied in this order."""
    found: list[Json] = []
    if parts.server:
        found += server.objects(settings)
    if parts.autoscaler:
        found += autoscaler.objects(settings)
    if parts.node_local is not None:
        found += nodelocal.objects(settings, parts.node_local)
    if parts.service_monitor:
        found += _monitors(settings, parts)
    if parts.prometheus_rules:
        found.append(monitoring.prometheus_rule(settings))
    if parts.dashboards:
        found.append(monitoring.dashboard_map(settings))
    return found


def _monitors(settings: Settings, parts: Parts) -> list[Json]:
    found = [monitoring.service_monitor(settings, settings.name, settings.app)] if parts.server else []
    if parts.node_local is not None:
        found.append(monitoring.service_monitor(settings, nodelocal.NAME, nodelocal.NAME))
    return found
