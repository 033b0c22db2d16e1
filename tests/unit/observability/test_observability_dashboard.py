"""The dashboard is laid out on Grafana's grid, and explains itself."""

from __future__ import annotations

import json
import re
from typing import Any

from waypost.observability import panels_waypost
from waypost.observability.dashboard import ROWS, dashboard

MODEL = dashboard()
VARIABLE = re.compile(r"\$\{?(\w+)\}?")
GRAFANAS_OWN = {"__rate_interval"}


def panels() -> list[dict[str, Any]]:
    """Rows and panels, those of folded rows too, in the order of their places."""
    found = []
    for panel in MODEL["panels"]:
        found += [panel, *panel.get("panels", ())]
    return found


def test_numbers_are_unique() -> None:
    numbers = [panel["id"] for panel in panels()]
    assert len(set(numbers)) == len(numbers)


def test_no_two_share_a_place() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_every_panel_is_drawn_and_described() -> None:
    shown = [panel for panel in panels() if panel["type"] != "row"]
    assert [panel["title"] for panel in shown] == [panel.title for row in ROWS for panel in row.panels]
    assert [panel["title"] for panel in shown if not panel["description"].endswith(".")] == []


def test_a_plot_of_several_lines_names_them() -> None:
    for panel in panels():
        targets = panel.get("targets", [])
        assert len({target["refId"] for target in targets}) == len(targets)
        if panel["type"] == "timeseries":
            assert all(target["legendFormat"] for target in targets), panel["title"]


def test_labels_of_legends_are_grouped_by() -> None:
    for panel in panels():
        for target in panel.get("targets", []):
            for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                by = re.findall(r"by \(([^)]*)\)", target["expr"])
                assert not by or label in {name.strip() for names in by for name in names.split(",")}, target


def test_variables_are_there() -> None:
    known = {variable["name"] for variable in MODEL["templating"]["list"]} | GRAFANAS_OWN
    assert set(VARIABLE.findall(json.dumps(MODEL["panels"]))) <= known


def test_metrics_of_ours_stand_in_rows_of_their_own() -> None:
    for row in ROWS:
        ours = any("waypost_" in query.expr for panel in row.panels for query in panel.queries)
        assert ours is (row in panels_waypost.ROWS), row.title


def test_a_folded_row_holds_its_panels() -> None:
    folded = [panel for panel in MODEL["panels"] if panel.get("collapsed")]
    assert [len(row["panels"]) for row in folded] == [len(row.panels) for row in ROWS if row.folded]
    assert folded
