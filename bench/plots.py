"""The figures as drawings: CPU a query, and latencies over load."""

from __future__ import annotations

from charts import Axis, Bar, Key, Line, above, bars, lines, number_text, sheet
from figures import BARE, FLOOR, OURS, Figures, Latency, Table, median
from machine import Machine
from svg import INK, Stroke
from targets import LOGGING

_COLOURS = {OURS: "#0969da", LOGGING: "#54aeff", BARE: "#8c959f"}
_PEERS = ("#bf8700", "#8250df", "#1a7f37")
_DASHES = {"p50": "", "p99": "6 3", "p999": "2 2"}
_NAMES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}


def cost_plot(machine: Machine, table: Table) -> str:
    """CPU time a query: a panel for each load, a bar for each server, the floor as a line."""
    panels = []
    for load, servers in table.items():
        middle = {server: median(rounds).cpu for server, rounds in servers.items()}
        floor = middle.pop(FLOOR, None)
        values = [
            Bar(server, cpu, f"{cpu:.1f}" + (f" ({cpu / floor:.1f} x)" if floor else ""), _colour(server, servers))
            for server, cpu in middle.items()
        ]
        panels.append(bars(load, Axis("us a query", 0, above([*middle.values(), floor or 0])), values, floor))
    keys = [Key("floor: C, 32 datagrams a system call, no name looked at", Stroke(INK, 1.5, "5 3"))]
    notes = [
        f"{machine}.",
        "CPU time of the whole process by queries answered; medians. Each panel has a scale of its own.",
    ]
    return sheet("CPU time of a query", notes, panels, keys)


def latency_plot(machine: Machine, table: Table) -> str:
    """Latency percentiles over load: a panel for each load, lines for Waypost and, in grey, for the floor."""
    shown = {
        load: {name: median(servers[name]) for name in (FLOOR, OURS) if name in servers}
        for load, servers in table.items()
    }
    waits = [
        wait
        for servers in shown.values()
        for one in servers.values()
        for three in one.latencies.values()
        for wait in three
    ]
    up = Axis("us, logarithmic", 10, max(10_000.0, *waits), log=True)
    panels = [
        lines(
            f"{load}: all of it is {number_text(servers[OURS].rate)} queries/s",
            Axis("% of the saturation rate", 0, 100), up,
            [line for server, one in servers.items() for line in _percentile_lines(one, _stroke_colour(server))],
        )
        for load, servers in shown.items() if OURS in servers
    ]  # fmt: skip
    keys = [
        Key(f"{who} {_NAMES[name]}", Stroke(colour, 1.8, dash))
        for who, colour in ((OURS, _COLOURS[OURS]), (FLOOR, _COLOURS[BARE]))
        for name, dash in _DASHES.items()
    ]
    notes = [
        f"{machine}.",
        "What the floor's lines show is the machine and the sender; its rates are shares of its own.",
    ]
    return sheet("Latency over load", notes, panels, keys)


def _percentile_lines(one: Figures, colour: str) -> list[Line]:
    return [
        Line(
            [(share, waits[Latency._fields.index(name)]) for share, waits in sorted(one.latencies.items())],
            Stroke(colour, 1.8, dash),
        )
        for name, dash in _DASHES.items()
    ]


def _colour(server: str, servers: dict[str, list[Figures]]) -> str:
    peers = [name for name in servers if name not in _COLOURS and name != FLOOR]
    return _COLOURS.get(server) or _PEERS[peers.index(server) % len(_PEERS)]


def _stroke_colour(server: str) -> str:
    return _COLOURS[OURS if server == OURS else BARE]
