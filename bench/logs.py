"""`waypost logs` over generated logs: lines a second and peak memory: `python bench/logs.py`.

Each log is written to a temporary file, then read by the real command in a process of its own, once for each round; the
median counts. Lines carry the time that container runtimes put in front.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LINES = 1_000_000
START = 1_700_000_000.0
STEPS = ("team-1.svc.cluster.local.", "svc.cluster.local.", "cluster.local.")
TARGET_SECONDS = 20

Asked = tuple[str, str, str]
"""Name, type, rcode."""


def cluster(rng: random.Random) -> Iterator[Asked]:
    """What pods with ndots:5 ask: 3,000 Services, and 200 names outside through the search list."""
    while True:
        if rng.random() < 0.6:
            yield from both(
                f"svc-{int(rng.paretovariate(0.5)) % 3_000}.team-{rng.randrange(40)}.svc.cluster.local.", "NOERROR"
            )
            continue
        outside = f"api-{rng.randrange(200)}.example.com."
        for step in STEPS:
            yield from both(outside + step, "NXDOMAIN")
        yield from both(outside, "NOERROR")


def distinct(rng: random.Random) -> Iterator[Asked]:
    """A million names, no two alike: the worst there is for tables of names."""
    while True:
        yield f"{rng.getrandbits(160):040x}.t.example.net.", "TXT", "NXDOMAIN"


def both(name: str, rcode: str) -> Iterator[Asked]:
    """A and AAAA."""
    yield name, "A", rcode
    yield name, "AAAA", rcode


LOGS: dict[str, Callable[[random.Random], Iterator[Asked]]] = {"cluster": cluster, "distinct": distinct}


def write(path: Path, asked: Iterator[Asked], count: int, rng: random.Random) -> None:
    """So many lines, a thousand of them a second, from 2,000 clients."""
    with path.open("w", encoding="ascii") as stream:
        for number in range(count):
            name, kind, rcode = next(asked)
            at = START + number / 1_000
            second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
            client = f"10.244.{number // 8 % 8}.{number // 64 % 250 + 2}"
            stream.write(
                f"{second}.{number % 1_000:03}000000Z stdout F [INFO] {client}:{rng.randrange(1024, 65536)} - "
                f'{rng.randrange(65536)} "{kind} IN {name} udp 60 false 1232" {rcode} qr,aa,rd 150 '
                f"{rng.lognormvariate(-8.5, 1):.9f}s\n"
            )


def run(path: Path) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of CPU, peak memory in MiB."""
    started = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "waypost.cli.main", "logs", str(path), "-o", "json"], stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"waypost logs ended with {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Print a line for each log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES, help=f"default: {LINES:,}")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    options = parser.parse_args()
    print(f"{'log':<10}{'lines/s':>10}{'seconds':>10}{'CPU s':>10}{'peak MiB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in LOGS.items():
            rng = random.Random(1)
            path = Path(folder) / name
            write(path, make(rng), options.lines, rng)
            seconds, cpu, peak = map(statistics.median, zip(*(run(path) for _ in range(options.rounds)), strict=True))
            print(f"{name:<10}{options.lines / seconds:>10,.0f}{seconds:>10.1f}{cpu:>10.1f}{peak:>10.0f}")
            path.unlink()
    print(f"target: a million lines in {TARGET_SECONDS} s")


if __name__ == "__main__":
    main()
