"""What costs how much: stages of a query, imports of a start, memory of an object: `python bench/profile.py`.

Everything is printed as Markdown. Stages are timed in this process, one at a time, over queries that are asked again
and again: the processor has their code and data at hand. The whole way is timed over queries that nobody has asked yet.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from imports import import_times
from loads import LOADS, write_all
from machine import this_machine
from objects import bytes_each
from reports import markdown
from servers import surroundings
from stages import QUERIES, Way, lowest, profile

PARTS = ("stages", "imports", "objects")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them by default")
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=QUERIES, help="how many of each load")
    parser.add_argument("--passes", type=int, default=3, help="how often all stages are timed; the best of them count")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"expected {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    wanted = options.parts or PARTS
    print(f"{this_machine()}.")
    with tempfile.TemporaryDirectory() as name, surroundings(options.services) as around:
        folder = Path(name)
        if "stages" in wanted:
            files = write_all(folder, options.services)
            passes = [
                {load: profile(folder, around, load, files[load]) for load in LOADS} for _ in range(options.passes)
            ]
            found = {load: lowest([one[load] for one in passes]) for load in LOADS}
            print("\n" + "\n".join(stage_table(found)))
        if "imports" in wanted:
            rows = [(group, f"{spent:.0f}") for group, spent in import_times(folder, around).items()]
            print("\n" + "\n".join(markdown(("modules", "ms"), rows)))
    if "objects" in wanted:
        rows = [(kind, f"{size:,.0f}") for kind, size in bytes_each().items()]
        print("\n" + "\n".join(markdown(("object", "bytes"), rows)))
    return 0


def stage_table(found: Mapping[str, Way]) -> list[str]:
    """A row for each stage, a column for each load; beneath them what a query costs that came before."""
    stages = [way.stages() for way in found.values()]
    names = list(dict.fromkeys(name for one in stages for name in one))
    names.sort(key=lambda name: max(list(one).index(name) for one in stages if name in one))
    rows = [[name, *(_cell(one.get(name)) for one in stages)] for name in names]
    rows.append(["**new: sum**", *(_cell(sum(one.values())) for one in stages)])
    rows.append(["**new: whole way**", *(_cell(way.whole[0]) for way in found.values())])
    rows.append(["memo, asked again", *(_cell(way.memo) for way in found.values())])
    rows.append(["**again: whole way**", *(_cell(way.whole[1]) for way in found.values())])
    return markdown(("us a query", *found), rows)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
