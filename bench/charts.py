"""Panels of bars and of lines, and sheets of panels beside each other. Numbers in, SVG out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from svg import FAINT, INK, Stroke, document, moved, polyline, rectangle, text

WIDTH, HEIGHT = 300.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 30.0, 42.0
_COLUMNS = 3
_EDGE = 16.0
_TITLE_LINE, _LINE = 26.0, 16.0
_HIGH = HEIGHT - _BOTTOM


class Axis(NamedTuple):
    """From `low` to `high`, both shown; of a logarithmic one both are above 0."""

    label: str
    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one, and never outside."""
        low, high, at = (math.log(n) for n in (self.low, self.high, max(value, self.low))) if self.log else (
            self.low, self.high, value
        )  # fmt: skip
        return min(max((at - low) / (high - low), 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round values: powers of ten, or multiples of 1, 2 or 5 of one, some five of them."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**n for n in range(first, last + 1)]
        step = _step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]


class Bar(NamedTuple):
    """One value. `label` stands above it."""

    name: str
    value: float
    label: str
    colour: str


class Line(NamedTuple):
    """Points in order of x."""

    points: Sequence[tuple[float, float]]
    stroke: Stroke


class Key(NamedTuple):
    """A line of the legend."""

    name: str
    stroke: Stroke


def bars(title: str, axis: Axis, values: Sequence[Bar], mark: float | None) -> str:
    """A panel of bars; `mark` is drawn as a line across all of them."""
    room = (WIDTH - _LEFT - _RIGHT) / max(len(values), 1)
    shapes = _frame(title, axis)
    for number, bar in enumerate(values):
        left, top = _LEFT + room * number, _height(axis, bar.value)
        shapes.append(rectangle(left + room * 0.15, top, room * 0.7, _HIGH - top, bar.colour))
        shapes.append(text(left + room / 2, top - 4, bar.label, size=10, anchor="middle"))
        for line, words in enumerate(bar.name.split(" ", 1)):
            shapes.append(text(left + room / 2, _HIGH + 14 + 12 * line, words, size=10, anchor="middle"))
    if mark is not None:
        y = _height(axis, mark)
        shapes.append(polyline([(_LEFT, y), (WIDTH - _RIGHT, y)], Stroke(INK, 1.5, "5 3")))
    return "".join(shapes)


def lines(title: str, across: Axis, up: Axis, drawn: Sequence[Line]) -> str:
    """A panel of lines, with a dot at each point."""
    shapes = _frame(title, up)
    span = WIDTH - _LEFT - _RIGHT
    for tick in across.ticks():
        shapes.append(text(_LEFT + across.place(tick) * span, _HIGH + 14, number_text(tick), size=10, anchor="middle"))
    shapes.append(text(_LEFT + span / 2, HEIGHT - 10, across.label, size=10, anchor="middle"))
    for line in drawn:
        places = [(_LEFT + across.place(x) * span, _height(up, y)) for x, y in line.points]
        shapes.append(polyline(places, line.stroke))
        shapes += (rectangle(x - 2, y - 2, 4, 4, line.stroke.colour) for x, y in places)
    return "".join(shapes)


def sheet(title: str, notes: Sequence[str], panels: Sequence[str], keys: Sequence[Key] = ()) -> str:
    """A whole drawing: title, legend, panels in rows, and notes beneath."""
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    above = _EDGE + _TITLE_LINE + (_LINE + 4 if keys else 0)
    width, height = 2 * _EDGE + columns * WIDTH, above + rows * HEIGHT + len(notes) * _LINE + _EDGE
    shapes = [text(_EDGE, _EDGE + 12, title, size=15)]
    left = _EDGE
    for key in keys:
        y = _EDGE + _TITLE_LINE + 4
        shapes.append(polyline([(left, y), (left + 24, y)], key.stroke))
        shapes.append(text(left + 30, y + 4, key.name))
        left += 48 + 6.2 * len(key.name)
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        shapes.append(moved(_EDGE + column * WIDTH, above + row * HEIGHT, [panel]))
    for number, note in enumerate(notes):
        shapes.append(text(_EDGE, above + rows * HEIGHT + (number + 0.7) * _LINE, note, size=10))
    return document(width, height, title, shapes)


def number_text(value: float) -> str:
    """A number as an axis shows it: 0.5, 20, 5,000, 100k."""
    if value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def above(values: Sequence[float]) -> float:
    """An end of a linear axis that leaves room for labels."""
    return max(values, default=1.0) * 1.15 or 1.0


def _frame(title: str, axis: Axis) -> list[str]:
    """The title and an upright axis with its lines."""
    shapes = [text(_LEFT, 14, title, size=12), text(_LEFT, 26, axis.label, size=9)]
    for tick in axis.ticks():
        y = _height(axis, tick)
        shapes.append(polyline([(_LEFT, y), (WIDTH - _RIGHT, y)], Stroke(FAINT)))
        shapes.append(text(_LEFT - 5, y + 3.5, number_text(tick), size=10, anchor="end"))
    return shapes


def _height(axis: Axis, value: float) -> float:
    return _HIGH - axis.place(value) * (_HIGH - _TOP)


def _step(rough: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= rough * (1 - 1e-9))
