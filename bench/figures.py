"""What was measured, as medians; as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from typing import NamedTuple

Table = dict[str, dict[str, "Figures"]]
"""Figures by load and server."""


class Figures(NamedTuple):
    """One server under one load, in one round or the median of several. `cpu` and latencies are in microseconds."""

    cpu: float
    rate: float
    p50: float
    p99: float
    lost: float


def median(rounds: Sequence[Figures]) -> Figures:
    """Each figure's median."""
    return Figures(*map(statistics.median, zip(*rounds, strict=True)))


def as_text(table: Table) -> str:
    """For people: a line for each load and server."""
    head = f"{'load':<11}{'server':<11}{'CPU us':>8}{'x floor':>9}{'x bare':>8}{'queries/s':>11}"
    head += f"{'p50 us':>8}{'p99 us':>8}{'lost':>7}"
    lines = [f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores", head]
    for load, servers in table.items():
        for server, figures in servers.items():
            lines.append(
                f"{load:<11}{server:<11}{figures.cpu:>8.2f}{_ratio(servers, server, 'floor'):>9}"
                f"{_ratio(servers, server, 'bare loop'):>8}{figures.rate:>11.0f}{figures.p50:>8.0f}{figures.p99:>8.0f}"
                f"{figures.lost:>7.0f}"
            )
    return "\n".join(lines)


def as_json(table: Table) -> str:
    """For programs: the fields of `Figures` by load and server."""
    plain = {load: {server: row._asdict() for server, row in servers.items()} for load, servers in table.items()}
    return json.dumps(plain, indent=1) + "\n"


def _ratio(servers: dict[str, Figures], server: str, base: str) -> str:
    """CPU of a server in terms of another's."""
    return f"{servers[server].cpu / servers[base].cpu:.2f}" if base in servers and servers[base].cpu else "-"
