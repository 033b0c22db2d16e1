"""Runs of dnsperf, and what it said."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

MISSING = "dnsperf is not installed (Debian: apt-get install dnsperf)"
# Each query's line of `dnsperf -v`: its rcode, name, type and seconds.
_ANSWERED = re.compile(r"^> [A-Z]+ \S+ \S+ ([\d.]+)$", re.M)


class Run(NamedTuple):
    """Queries answered and lost, queries a second, and the rcodes of the answers."""

    completed: int
    lost: int
    rate: float
    rcodes: frozenset[str]


def installed() -> bool:
    """True if there is a dnsperf."""
    return shutil.which("dnsperf") is not None


def run(port: int, file: Path, *, seconds: float = 0, rate: int = 0, once: bool = False) -> Run:
    """Ask the questions of a file, as fast as they are answered or at a rate, for some seconds or each of them once."""
    said = _output(port, file, *_limits(seconds, rate, once))
    completed = int(found(r"Queries completed:\s+(\d+)", said))
    if not completed:
        raise SystemExit(f"bench: nothing was answered:\n{said}")
    rcodes = re.search(r"Response codes:\s+(.*)", said)
    names = re.findall(r"([A-Z]+) \d+", rcodes[1]) if rcodes else ()
    lost = int(found(r"Queries lost:\s+(\d+)", said))
    return Run(completed, lost, found(r"Queries per second:\s+([\d.]+)", said), frozenset(names))


def latencies(port: int, file: Path, *, seconds: float, rate: int) -> list[float]:
    """Seconds from question to answer at a steady rate, in ascending order."""
    said = _output(port, file, "-v", *_limits(seconds, rate, False))
    waits = sorted(map(float, _ANSWERED.findall(said)))
    if not waits:
        raise SystemExit(f"bench: nothing was answered:\n{said}")
    return waits


def found(pattern: str, text: str) -> float:
    """The number that a pattern finds."""
    match = re.search(pattern, text, re.M)
    if match is None:
        raise SystemExit(f"bench: no {pattern} in\n{text}")
    return float(match[1])


def _limits(seconds: float, rate: int, once: bool) -> list[str]:
    limits = ["-n", "1"] if once else ["-l", str(seconds)]
    return [*limits, "-Q", str(rate)] if rate else limits


def _output(port: int, file: Path, *words: str) -> str:
    """Into a file: who reads a pipe meanwhile takes processor time from who is measured."""
    command = ["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", str(file), "-c", "20", "-q", "200", *words]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        subprocess.run(command, stdout=said, stderr=subprocess.PIPE, check=True)
        said.seek(0)
        return said.read()
