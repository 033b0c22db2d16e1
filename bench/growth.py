"""How costs grow with the cluster: CPU a query with Services, memory with endpoints: `python bench/growth.py`.

Prints Markdown; `--svg FOLDER` writes growth.svg there. Needs dnsperf, and a C compiler for the floor.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import dnsperf
from charts import Axis, Key, Line, above, lines, sheet
from figures import FLOOR, OURS, Table, median, ratios
from machine import Machine, this_machine
from measuring import Plan, measured_table
from processes import free_port, memory, running, until_quiet
from reports import markdown
from servers import COMMAND, command_line, surroundings
from svg import Stroke

LOADS = ("mixed", "distinct", "missing")
SERVICES = (100, 1_000, 10_000, 100_000)
ENDPOINTS = (10_000, 50_000, 100_000, 200_000)
ENDPOINT_SERVICES = 10_000
_COLOURS = {"mixed": "#0969da", "distinct": "#8250df", "missing": "#1a7f37", FLOOR: "#8c959f"}


def main() -> int:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, nargs="+", default=SERVICES)
    parser.add_argument("--endpoints", type=int, nargs="+", default=ENDPOINTS)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--svg", metavar="FOLDER", help="write growth.svg there")
    options = parser.parse_args()
    if not dnsperf.installed():
        print(f"growth: {dnsperf.MISSING}", file=sys.stderr)
        return 1
    machine = this_machine()
    costs = {services: cost(services, options.seconds, options.rounds) for services in sorted(options.services)}
    sizes = {endpoints: statistics.median(size(endpoints) for _ in range(3)) for endpoints in sorted(options.endpoints)}
    print(f"{machine}.\n\n" + "\n".join(cost_table(costs)) + "\n\n" + "\n".join(size_table(sizes)))
    if options.svg:
        folder = Path(options.svg)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "growth.svg").write_text(drawing(machine, costs, sizes), encoding="utf-8")
    return 0


def cost(services: int, seconds: float, rounds: int) -> Table:
    """CPU a query of a cluster of this size."""
    only = frozenset((FLOOR, OURS))
    return measured_table(Plan(services, seconds, rounds, LOADS, shares=(), only=only))


def size(endpoints: int) -> float:
    """Memory (PSS) in MiB of a server that has learned a cluster and rests."""
    port = free_port()
    with (
        surroundings(ENDPOINT_SERVICES, endpoints) as around,
        tempfile.TemporaryDirectory() as folder,
        running(command_line(COMMAND, Path(folder), port, around), port) as pid,
    ):
        until_quiet(pid)
        return memory(pid, "smaps_rollup", "Pss")


def cost_table(costs: Mapping[int, Table]) -> list[str]:
    """A row for each number of Services; microseconds, and in brackets times the floor."""
    rows = []
    for services, table in costs.items():
        row = [f"{services:,}"]
        for load in LOADS:
            found = ratios(table, load, OURS, FLOOR)
            times = f" ({statistics.median(found):.1f} x)" if found else ""
            row.append(f"{median(table[load][OURS]).cpu:.1f}{times}")
        rows.append(row)
    return markdown(("Services", *(f"{load}, us (x floor)" for load in LOADS)), rows)


def size_table(sizes: Mapping[int, float]) -> list[str]:
    """A row for each number of endpoints, and what one of them takes."""
    rows = [(f"{endpoints:,}", f"{mebibytes:.1f}") for endpoints, mebibytes in sizes.items()]
    return [*markdown(("endpoints", "PSS, MiB"), rows), "", f"Each further endpoint: {bytes_each(sizes):.0f} bytes."]


def bytes_each(sizes: Mapping[int, float]) -> float:
    """The slope of memory in MiB over endpoints, in bytes."""
    if len(sizes) < 2:
        return 0.0
    return statistics.linear_regression(list(sizes), list(sizes.values())).slope * 1024 * 1024


def drawing(machine: Machine, costs: Mapping[int, Table], sizes: Mapping[int, float]) -> str:
    """Two panels."""
    drawn: dict[str, Sequence[tuple[float, float]]] = {
        load: [(services, median(table[load][OURS]).cpu) for services, table in costs.items()] for load in LOADS
    }
    if all(FLOOR in table[LOADS[0]] for table in costs.values()):
        drawn[FLOOR] = [(services, median(table[LOADS[0]][FLOOR]).cpu) for services, table in costs.items()]
    highest = max(y for points in drawn.values() for _, y in points)
    panels = [
        lines(
            "CPU a query",
            Axis("Services, logarithmic", min(costs), max(*costs, min(costs) * 10), log=True),
            Axis("us", 0, above([highest])),
            [Line(points, Stroke(_COLOURS[name], 1.8)) for name, points in drawn.items()],
        ),
        lines(
            "Memory",
            Axis(f"endpoints of {ENDPOINT_SERVICES:,} Services", 0, max(sizes)),
            Axis("PSS, MiB", 0, above(list(sizes.values()))),
            [Line(list(sizes.items()), Stroke(_COLOURS["mixed"], 1.8))],
        ),
    ]
    keys = [Key(name, Stroke(_COLOURS[name], 1.8)) for name in drawn]
    return sheet("Growth with the cluster", [f"{machine}."], panels, keys)


if __name__ == "__main__":
    sys.exit(main())
