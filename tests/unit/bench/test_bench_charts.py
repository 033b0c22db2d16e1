"""Drawings: well-formed, self-contained, and their shapes where the numbers say."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from charts import Axis, Bar, Key, Line, bars, lines, number_text, sheet
from figures import BARE, FLOOR, OURS, Figures, Latency, Table
from machine import Machine
from plots import cost_plot, latency_plot
from svg import Stroke, document, text

NS = "{http://www.w3.org/2000/svg}"
MACHINE = Machine("A <Processor> & more", 2, "Linux 6", "CPython 3.11", 0.5)


def figures(cpu: float) -> list[Figures]:
    return [Figures(cpu, 1e6 / cpu, 0, {share: Latency(50, 100 + share, 500) for share in (10, 50)})] * 3


TABLE: Table = {
    "mixed": {FLOOR: figures(2.0), BARE: figures(4.0), OURS: figures(3.0), "coredns": figures(17.0)},
    "missing": {OURS: figures(9.0)},
}


def words(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{NS}text")]


@pytest.mark.parametrize("draw", [cost_plot, latency_plot])
def test_drawing_is_one_file_that_loads_nothing(draw: type[str]) -> None:
    svg = draw(MACHINE, TABLE)
    root = ET.fromstring(svg)
    assert {node.tag.removeprefix(NS) for node in root.iter()} <= {"svg", "rect", "text", "polyline", "g"}
    assert not any(name.endswith("href") for node in root.iter() for name in node.attrib)
    assert f"{MACHINE}." in words(svg)


def test_bars_say_microseconds_and_times_the_floor() -> None:
    found = words(cost_plot(MACHINE, TABLE))
    assert {"3.0 (1.5 x)", "17.0 (8.5 x)", "9.0"} <= set(found)


def test_shapes_stay_on_the_sheet() -> None:
    for svg in (cost_plot(MACHINE, TABLE), latency_plot(MACHINE, TABLE)):
        root = ET.fromstring(svg)
        for group in root.iter(f"{NS}g"):
            for rect in group.iter(f"{NS}rect"):
                assert float(rect.attrib["height"]) >= 0
                assert 0 <= float(rect.attrib["y"]) <= 250


def test_a_bar_is_as_high_as_its_value() -> None:
    panel = bars("t", Axis("us", 0, 10), [Bar("a", 2, "2", "#000000"), Bar("b", 8, "8", "#000000")], None)
    low, high = (float(node.attrib["height"]) for node in ET.fromstring(f"<g>{panel}</g>").iter("rect"))
    assert high == pytest.approx(4 * low, rel=0.01)


def test_a_logarithmic_axis_has_equal_steps() -> None:
    axis = Axis("", 10, 1000, log=True)
    assert [axis.place(value) for value in (10, 100, 1000)] == pytest.approx([0, 0.5, 1])
    assert axis.ticks() == [10, 100, 1000]


@pytest.mark.parametrize(
    ("high", "ticks"),
    [(10, [0, 2, 4, 6, 8, 10]), (3.6, [0, 1, 2, 3]), (90, [0, 20, 40, 60, 80]), (0.4, [0, 0.1, 0.2, 0.3, 0.4])],
)
def test_ticks_are_round(high: float, ticks: list[float]) -> None:
    assert Axis("", 0, high).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize("value", [-5, 0, 1e9])
@pytest.mark.parametrize("log", [False, True])
def test_nothing_is_placed_outside(value: float, log: bool) -> None:
    assert 0 <= Axis("", 1, 10, log).place(value) <= 1


def test_points_of_a_line_are_in_order() -> None:
    panel = lines("t", Axis("x", 0, 10), Axis("y", 0, 10), [Line([(0, 0), (10, 10)], Stroke("#123456"))])
    line = next(
        node for node in ET.fromstring(f"<g>{panel}</g>").iter("polyline") if node.attrib["stroke"] == "#123456"
    )
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in line.attrib["points"].split())
    assert x0 < x1
    assert y0 > y1


def test_words_are_escaped() -> None:
    svg = document(10, 10, 'a "title" <x>', [text(0, 0, "<b> & c")])
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"] == 'a "title" <x>'
    assert words(svg) == ["<b> & c"]


def test_a_sheet_grows_with_its_panels_and_legend() -> None:
    heights = [
        float(ET.fromstring(sheet("t", [], ["<g/>"] * panels, keys)).attrib["height"])
        for panels, keys in ((3, []), (4, []), (4, [Key("k", Stroke())]))
    ]
    assert heights == sorted(set(heights))


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (0.5, "0.5"), (20, "20"), (5000, "5,000"), (100_000, "100k")])
def test_numbers_on_axes(value: float, shown: str) -> None:
    assert number_text(value) == shown
