"""What a query costs: CPU time of the whole server process, beside the least that is possible: `make bench`.

Every load is put on every server in turn, in rounds, and the medians are shown. Machines are noisy: read the ratios,
not the microseconds. Needs dnsperf; with a C compiler there is a floor to compare with.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import dnsperf
from figures import Figures, as_json, as_text, median
from loads import LOADS, write_all
from processes import cpu_seconds
from servers import KEPT, PASSED_ON, Server, all_servers

# Latency is looked at far from where the server is busy: there it says only how many queries wait.
LATENCY_RATE = 2000
LATENCY_SECONDS = 1.0
QUICK = {"loads": ["mixed"], "seconds": 1.0, "rounds": 3, "services": 1000}


def main() -> int:
    """Measure, and print a table."""
    options = arguments()
    if not dnsperf.installed():
        print(f"bench: {dnsperf.MISSING}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_all(folder, options.services)
        with all_servers(folder, options.services, options.peer) as servers:
            if servers[0].name != "floor":
                print("bench: no C compiler (cc), so the floor is left out", file=sys.stderr)
            table = {load: measured(load, files[load], servers, options) for load in options.loads}
    print(as_text(table))
    if options.json:
        Path(options.json).write_text(as_json(table), encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=LOADS)
    parser.add_argument(
        "--peer", action="append", default=[], metavar="COMMAND",
        help="another server, such as 'coredns -conf {conf}'; may be given several times",
    )  # fmt: skip
    parser.add_argument("--json", help="write the figures there")
    parser.add_argument("--quick", action="store_true", help="one load and short runs, to see that it works")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    return options


def measured(load: str, file: Path, servers: list[Server], options: argparse.Namespace) -> dict[str, Figures]:
    """Medians of one load, by server."""
    mode = PASSED_ON if load == "forwarded" else KEPT
    for server in servers:  # every question once: caches are filled, code is warm
        dnsperf.run(server.ports[mode], file, once=True)
    rounds = [
        {server.name: one_run(load, server.pids[mode], server.ports[mode], file, options.seconds) for server in servers}
        for _ in range(options.rounds)
    ]
    return {server.name: median([figures[server.name] for figures in rounds]) for server in servers}


def one_run(load: str, pid: int, port: int, file: Path, seconds: float) -> Figures:
    """One server under one load."""
    before = cpu_seconds(pid)
    run = dnsperf.run(port, file, seconds=seconds)
    used = cpu_seconds(pid) - before
    if "SERVFAIL" in run.rcodes or "REFUSED" in run.rcodes:
        raise SystemExit(f"bench: {load}: a server failed: {', '.join(sorted(run.rcodes))}")
    waits = dnsperf.latencies(port, file, seconds=LATENCY_SECONDS, rate=LATENCY_RATE)
    p50, p99 = (waits[len(waits) * percent // 100] * 1e6 for percent in (50, 99))
    return Figures(used / run.completed * 1e6, run.rate, p50, p99, run.lost)


if __name__ == "__main__":
    sys.exit(main())
