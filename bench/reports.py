"""The figures as text for people, as Markdown to be pasted, and as JSON for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence

from figures import BARE, FLOOR, HALF, Figures, Table, median, ratios
from machine import Machine
from targets import Verdict, verdicts

HEAD = ("load", "server", "CPU us", "x floor", "x bare", "queries/s", "p50 us", "p99 us", "p99.9 us", "lost")


def as_text(machine: Machine, table: Table, starts: Mapping[int, Sequence[float]]) -> str:
    """For people: a line for each load and server, and one for each target."""
    rows = [HEAD, *cells(table)]
    parts = [str(machine), "", *aligned(rows), "", f"Latencies at {HALF} % of the saturation rate. Targets:"]
    parts += aligned([("", "", "lowest to highest", "target", ""), *map(_verdict_cells, verdicts(table, starts))])
    return "\n".join(parts)


def as_markdown(machine: Machine, table: Table, starts: Mapping[int, Sequence[float]]) -> str:
    """The same, ready to be pasted."""
    head = ("target", "measured", "lowest to highest", "at most", "")
    parts = [f"{machine}.", "", *markdown(HEAD, cells(table)), "", f"Latencies at {HALF} % of the saturation rate.", ""]
    return "\n".join(parts + markdown(head, map(_verdict_cells, verdicts(table, starts))))


def as_json(machine: Machine, table: Table, starts: Mapping[int, Sequence[float]]) -> str:
    """For programs: every round, and the verdicts."""
    loads = {
        load: {server: [_plain(one) for one in rounds] for server, rounds in servers.items()}
        for load, servers in table.items()
    }
    judged = [{**verdict._asdict(), "met": verdict.met} for verdict in verdicts(table, starts)]
    everything = {"machine": machine._asdict(), "loads": loads, "starts": starts, "targets": judged}
    return json.dumps(everything, indent=1) + "\n"


def cells(table: Table) -> list[tuple[str, ...]]:
    """A row of `HEAD` for each load and server."""
    return [
        (load, server, *_figures(median(rounds), _ratio(table, load, server, FLOOR), _ratio(table, load, server, BARE)))
        for load, servers in table.items()
        for server, rounds in servers.items()
    ]


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines with columns; the first two are words, the others numbers."""
    kept = list(rows)
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    return ["  ".join(_pad(n, cell, widths[n]) for n, cell in enumerate(row)).rstrip() for row in kept]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def _pad(column: int, cell: str, width: int) -> str:
    return cell.ljust(width) if column < 2 else cell.rjust(width)


def _figures(middle: Figures, floor: str, bare: str) -> tuple[str, ...]:
    latency = middle.latencies.get(HALF)
    waits = [f"{value:,.0f}" for value in latency] if latency else ["-"] * 3
    return (f"{middle.cpu:.2f}", floor, bare, f"{middle.rate:,.0f}", *waits, f"{middle.lost:.0f}")


def _ratio(table: Table, load: str, server: str, base: str) -> str:
    found = ratios(table, load, server, base)
    return f"{statistics.median(found):.2f}" if found else "-"


def _verdict_cells(verdict: Verdict) -> tuple[str, ...]:
    unit = verdict.unit
    spread = f"{verdict.low:.2f} to {verdict.high:.2f}"
    return (
        verdict.what,
        f"{verdict.value:.2f} {unit}",
        spread,
        f"{verdict.limit:g}",
        "met" if verdict.met else "MISSED",
    )


def _plain(one: Figures) -> dict[str, object]:
    return {**one._asdict(), "latencies": {share: waits._asdict() for share, waits in one.latencies.items()}}
