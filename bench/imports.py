"""What starting costs: the time of imports, by groups of modules."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from processes import answers, free_port
from servers import COMMAND, Around, command_line, compiled

_LINE = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s*(\S+)$", re.M)
_PATIENCE = 60.0
OURS = "waypost"
SMALLEST = 5_000
"""Groups that take less, in microseconds, are put together."""


def import_times(folder: Path, around: Around, rounds: int = 3) -> dict[str, float]:
    """Milliseconds by group, the largest first, of what is imported until a query is answered; the fastest start."""
    compiled()
    return grouped(min((_said(folder, around) for _ in range(rounds)), key=lambda said: times(said).total()))


def _said(folder: Path, around: Around) -> str:
    port = free_port()
    words = command_line(COMMAND, folder, port, around)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        with subprocess.Popen(
            [words[0], "-X", "importtime", *words[1:]], stdout=subprocess.DEVNULL, stderr=said
        ) as popen:
            deadline = time.monotonic() + _PATIENCE
            while not (answered := answers(port)) and popen.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            popen.kill()
        said.seek(0)
        if not answered:
            raise SystemExit(f"bench: does not answer: {' '.join(words)}")
        return said.read()


def times(said: str) -> Counter[str]:
    """Microseconds of each module itself, in what `python -X importtime` says."""
    return Counter({name: int(own) for own, name in _LINE.findall(said)})


def grouped(said: str) -> dict[str, float]:
    """Milliseconds by top package, and for our own by the one beneath it; the largest first."""
    groups: Counter[str] = Counter()
    for name, own in times(said).items():
        parts = name.split(".")
        groups[".".join(parts[: 2 if parts[0] == OURS else 1])] += own
    large = {name: own / 1000 for name, own in groups.most_common() if own >= SMALLEST}
    return {**large, "everything else": groups.total() / 1000 - sum(large.values())}
