"""The short benchmark that CI runs: has a query become much dearer in terms of the floor? `make bench-check`.

A few seconds for each load. What is compared is the best of three ratios, within a round, of Waypost's CPU time to the
floor's: a busy machine makes single ones worse, seldom all, and then it looks again, twice. `--record` writes the
medians as what is expected.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

import dnsperf
from figures import FLOOR, OURS, ratios
from machine import this_machine
from measuring import Plan, measured_table

RECORDED = Path(__file__).with_name("recorded.json")
TOLERANCE = 1.5
_SECOND_LOOKS = 2
PLAN = Plan(services=1000, seconds=0.6, rounds=3, shares=(), only=frozenset((FLOOR, OURS)))


def main() -> int:
    """Measure, print, and judge; 1 if a load costs too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"write the ratios to {RECORDED.name}")
    options = parser.parse_args()
    missing = what_is_missing()
    if missing:
        print(f"bench: skipped: {missing}")
        return 0
    machine = this_machine()
    table = measured_table(PLAN)
    found = {load: ratios(table, load, OURS, FLOOR) for load in table}
    best = {load: values[0] for load, values in found.items()}
    if options.record:
        medians = {load: round(statistics.median(values), 2) for load, values in found.items()}
        everything = {"machine": machine._asdict(), "ratios": medians}
        RECORDED.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["ratios"]
    lines, failed = judged(best, recorded)
    for _ in range(_SECOND_LOOKS):
        if not failed:
            break
        again = measured_table(PLAN)  # a real loss is there each time
        best = {load: min(ratio, *ratios(again, load, OURS, FLOOR)) for load, ratio in best.items()}
        lines, failed = judged(best, recorded)
    print("\n".join([str(machine), *lines]))
    return int(failed)


def what_is_missing() -> str:
    """Why nothing can be measured here; empty if it can."""
    if not dnsperf.installed():
        return dnsperf.MISSING
    return "" if shutil.which("cc") else "no C compiler (cc), so there is no floor to compare with"


def judged(best: Mapping[str, float], recorded: Mapping[str, float]) -> tuple[list[str], bool]:
    """A line for each load, and whether one costs too much. A load without a record is only shown."""
    lines, failed = [], False
    for load, ratio in best.items():
        line = f"{load:<10} {ratio:6.2f} x the floor, best of {PLAN.rounds}"
        if load in recorded:
            limit = recorded[load] * TOLERANCE
            too_much = ratio > limit
            failed = failed or too_much
            line += f" (recorded {recorded[load]:.2f}, at most {limit:.2f}): {'TOO MUCH' if too_much else 'ok'}"
        lines.append(line)
    return lines, failed


if __name__ == "__main__":
    sys.exit(main())
