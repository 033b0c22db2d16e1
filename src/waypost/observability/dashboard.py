"""The panels as a dashboard of Grafana (schema version 39, Grafana 11)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from waypost.observability import panels_coredns, panels_waypost
from waypost.observability.panel import Panel, Query, Row

Json = dict[str, Any]

ROWS: Final[tuple[Row, ...]] = (*panels_coredns.ROWS, *panels_waypost.ROWS)
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH: Final = 24
_PLOT: Final = (8, 8)
_NUMBER: Final = (4, 4)
"""Width and height."""


def dashboard() -> Json:
    """The JSON model."""
    return {
        "uid": "waypost-cluster-dns",
        "title": "Cluster DNS",
        "description": "Waypost, or CoreDNS: what is asked and answered, by whom, how fast, on which data.",
        "tags": ["dns", "kubernetes", "waypost"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source_variable(), _variable("job", ""), _variable("instance", '{job=~"$job"}')]},
        "panels": list(_panels()),
    }


def _source_variable() -> Json:
    return {"name": "datasource", "type": "datasource", "label": "Data source", "query": "prometheus"}


def _variable(label: str, picked: str) -> Json:
    query = f"label_values(coredns_build_info{picked}, {label})"
    return {
        "name": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": label},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels() -> Iterator[Json]:
    """Rows and panels from top to bottom; what is folded stands within its row."""
    numbers = count(1)
    y = 0
    for row in ROWS:
        heading: Json = {
            "id": next(numbers),
            "type": "row",
            "title": row.title,
            "collapsed": row.folded,
            "gridPos": {"x": 0, "y": y, "w": _WIDTH, "h": 1},
            "panels": [],
        }
        placed, y = _placed(row, y + 1)
        drawn = [_drawn(panel, next(numbers), place) for panel, place in placed]
        if row.folded:
            yield {**heading, "panels": drawn}
        else:
            yield heading
            yield from drawn


def _placed(row: Row, y: int) -> tuple[list[tuple[Panel, Json]], int]:
    """Where each panel stands, from left to right in lines from `y` on; and where the next row may begin."""
    found: list[tuple[Panel, Json]] = []
    x = height = 0
    for panel in row.panels:
        width, tall = _NUMBER if panel.stat else _PLOT
        if x + width > _WIDTH:
            x, y, height = 0, y + height, 0
        found.append((panel, {"x": x, "y": y, "w": width, "h": tall}))
        x, height = x + width, max(height, tall)
    return found, y + height


def _drawn(panel: Panel, number: int, place: Json) -> Json:
    look = _number_look(panel) if panel.stat else _plot_look(panel)
    return {
        "id": number,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": [_target(query, chr(ord("A") + place)) for place, query in enumerate(panel.queries)],
        **look,
    }


def _target(query: Query, reference: str) -> Json:
    return {"refId": reference, "datasource": _SOURCE, "expr": query.expr, "legendFormat": query.legend}


def _plot_look(panel: Panel) -> Json:
    stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
    custom = {"fillOpacity": 30 if panel.stacked else 5, "showPoints": "never", "stacking": stacking}
    return {
        "type": "timeseries",
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }


def _number_look(panel: Panel) -> Json:
    steps: list[Json] = [{"color": "green", "value": None}]
    if panel.limits is not None:
        steps += [
            {"color": color, "value": value} for color, value in zip(("orange", "red"), panel.limits, strict=True)
        ]
    thresholds = {"mode": "absolute", "steps": steps}
    return {
        "type": "stat",
        "fieldConfig": {"defaults": {"unit": panel.unit, "thresholds": thresholds}, "overrides": []},
        "options": {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "area",
        },
    }
