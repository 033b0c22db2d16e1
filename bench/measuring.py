"""Every load on every server in turn, in rounds: what a query costs in CPU time, and how long it waits."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

import dnsperf
from figures import FLOOR, HALF, Figures, Table, percentiles
from loads import LOADS, write_all, write_missing
from processes import cpu_seconds
from servers import KEPT, LOGGED, PASSED_ON, Server, all_servers, surroundings

SHARES = (10, 25, HALF, 75)
LATENCY_SECONDS = 1.0
WITH_LOG = "mixed"
"""The load that is also put on servers that log every query."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. `seconds` is the length of one run, `shares` are those of the saturation rate in percent.

    `peers` are commands of other servers. `only`, if there is one, names the servers wanted.
    """

    services: int = 10_000
    seconds: float = 2.0
    rounds: int = 3
    loads: Sequence[str] = LOADS
    peers: Sequence[str] = ()
    shares: Sequence[int] = SHARES
    only: frozenset[str] = frozenset()


class Contender(NamedTuple):
    """A server in one mode."""

    name: str
    pid: int
    port: int


def measured_table(plan: Plan) -> Table:
    """Every load on every server."""
    modes = {mode for load in plan.loads for mode in modes_of(load)}
    with tempfile.TemporaryDirectory() as name, surroundings(plan.services) as around:
        folder = Path(name)
        files = write_all(folder, plan.services)
        with all_servers(folder, around, plan.peers, sorted(modes)) as servers:
            if servers[0].name != FLOOR:
                print("bench: no C compiler (cc), so the floor is left out", file=sys.stderr)
            return {load: measured(load, files[load], servers, plan) for load in plan.loads}


def modes_of(load: str) -> tuple[str, ...]:
    """The modes that servers run in for a load."""
    return (PASSED_ON,) if load == "forwarded" else (KEPT, LOGGED) if load == WITH_LOG else (KEPT,)


def contenders(load: str, servers: Sequence[Server]) -> Iterator[Contender]:
    """Who takes this load."""
    for server in servers:
        for mode in modes_of(load):
            if mode in server.ports:
                name = f"{server.name} +log" if mode == LOGGED else server.name
                yield Contender(name, server.pids[mode], server.ports[mode])


def measured(load: str, file: Path, servers: Sequence[Server], plan: Plan) -> dict[str, list[Figures]]:
    """The rounds of one load, by server."""
    who = [one for one in contenders(load, servers) if not plan.only or one.name in plan.only]
    seeds = count()

    def questions() -> Path:
        """For one run. What is missing has never been asked for: the memo must not know it from the run before."""
        if load == "missing":
            write_missing(file, seed=next(seeds))
        return file

    for one in who:  # every question twice: caches are filled, code is warm
        for _ in range(2):
            dnsperf.run(one.port, questions(), once=True)
    rounds = [{one.name: one_run(load, one, questions, plan) for one in who} for _ in range(plan.rounds)]
    return {one.name: [figures[one.name] for figures in rounds] for one in who}


def one_run(load: str, one: Contender, questions: Callable[[], Path], plan: Plan) -> Figures:
    """One server under one load; `questions` gives the file for each run."""
    file = questions()
    before = cpu_seconds(one.pid)
    run = dnsperf.run(one.port, file, seconds=plan.seconds)
    used = cpu_seconds(one.pid) - before
    if "SERVFAIL" in run.rcodes or "REFUSED" in run.rcodes:
        raise SystemExit(f"bench: {load}: {one.name} failed: {', '.join(sorted(run.rcodes))}")
    latencies = {}
    for share in plan.shares:
        rate = int(run.rate * share / 100)
        latencies[share] = percentiles(dnsperf.latencies(one.port, questions(), seconds=LATENCY_SECONDS, rate=rate))
    return Figures(used / run.completed * 1e6, run.rate, run.lost, latencies)
