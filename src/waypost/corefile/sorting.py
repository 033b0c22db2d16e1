"""The directives of a server block in another order, each with its block and the comments above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from waypost.corefile.layout import Row


@dataclass(slots=True)
class Line:
    """A row, by how many braces it is indented, and whether it belongs to the body of a server block."""

    row: Row
    indent: int
    in_block: bool


@dataclass(slots=True)
class Unit:
    """The lines of one directive; without a name they stay where they are."""

    name: str = ""
    lines: list[Line] = field(default_factory=list)


def sort_directives(lines: Sequence[Line], order: Sequence[str]) -> list[Line]:
    """`lines` with the directives of each server block in `order`.

    Import lines, and names that are not in `order`, stay where they are and are not passed by others. Occurrences of
    one directive keep their order.
    """
    places = {name: place for place, name in enumerate(order)}
    found: list[Line] = []
    for in_block, group in groupby(lines, key=lambda line: line.in_block):
        body = list(group)
        found += _sorted(body, places) if in_block else body
    return found


def _sorted(lines: list[Line], places: dict[str, int]) -> list[Line]:
    moved: list[Unit] = []
    for known, group in groupby(_units(lines, places), key=lambda unit: bool(unit.name)):
        run = list(group)
        moved += sorted(run, key=lambda unit: places[unit.name]) if known else run
    after = [line for unit in moved for line in unit.lines]
    if after != lines:
        for unit in moved:
            unit.lines[0].row.gap = False
    return after


def _units(lines: list[Line], places: dict[str, int]) -> list[Unit]:
    """Comments belong to the directive below them; those at the end to none."""
    units: list[Unit] = []
    above: list[Line] = []
    inside = False
    for line in lines:
        row = line.row
        if line.indent == 1 and not row.words:
            above.append(line)
            inside = False
        elif line.indent == 1 and not (inside and (row.starts_with("{") or row.starts_with("}"))):
            name = row.words[0].text
            units.append(Unit(name if name in places else "", [*above, line]))
            above, inside = [], True
        else:
            units[-1].lines += [*above, line]
            above, inside = [], True
    return [*units, Unit("", above)] if above else units
