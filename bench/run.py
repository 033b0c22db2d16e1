"""What a query costs: CPU time of the whole server process, beside the least that is possible: `make bench`.

Every load is put on every server in turn, in rounds; medians are shown, and ratios within a round. Machines are noisy:
read the ratios, not the microseconds. Needs dnsperf; with a C compiler there is a floor to compare with.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import dnsperf
from figures import HALF
from loads import LOADS
from machine import this_machine
from measuring import SHARES, WITH_LOG, Plan, measured_table
from plots import cost_plot, latency_plot
from reports import as_json, as_markdown, as_text
from starting import start_times

SMALL_CLUSTER = 10
QUICK = {"loads": [WITH_LOG], "seconds": 0.5, "services": 1000, "shares": (HALF,)}


def main() -> int:
    """Measure, and print what came out."""
    options = arguments()
    if not dnsperf.installed():
        print(f"bench: {dnsperf.MISSING}", file=sys.stderr)
        return 1
    machine = this_machine()
    starts = start_times(sorted({SMALL_CLUSTER, options.services}), options.rounds)
    table = measured_table(
        Plan(options.services, options.seconds, options.rounds, options.loads, options.peer, options.shares)
    )
    print((as_markdown if options.markdown else as_text)(machine, table, starts))
    if options.json:
        Path(options.json).write_text(as_json(machine, table, starts), encoding="utf-8")
    if options.svg:
        folder = Path(options.svg)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.svg").write_text(cost_plot(machine, table), encoding="utf-8")
        (folder / "latency.svg").write_text(latency_plot(machine, table), encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=LOADS)
    parser.add_argument(
        "--peer", action="append", default=[], metavar="COMMAND",
        help="another server, such as 'coredns -conf {conf}'; may be given several times",
    )  # fmt: skip
    parser.add_argument("--markdown", action="store_true", help="print tables to be pasted into a page")
    parser.add_argument("--json", metavar="FILE", help="write every round there")
    parser.add_argument("--svg", metavar="FOLDER", help="write cpu.svg and latency.svg there")
    parser.add_argument("--quick", action="store_true", help="one load and short runs, to see that it works")
    parser.set_defaults(shares=SHARES)
    if parser.parse_args().quick:
        parser.set_defaults(**QUICK)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
