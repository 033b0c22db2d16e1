"""What the process allocates and keeps, traced by tracemalloc for as long as it is asked to."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from waypost.plugins.pprof.stacks import Stack

_FRAMES: Final = 16
_LINES: Final = 100


async def kept(seconds: float) -> tracemalloc.Snapshot:
    """What was allocated in this time and is still in use; all there is if Python was started with tracing."""
    if tracemalloc.is_tracing():
        return tracemalloc.take_snapshot()
    tracemalloc.start(_FRAMES)
    try:
        await asyncio.sleep(seconds)
        return await asyncio.to_thread(tracemalloc.take_snapshot)
    finally:
        tracemalloc.stop()


def as_text(snapshot: tracemalloc.Snapshot) -> bytes:
    """The process's size, and the lines of code that keep the most."""
    found = _ours(snapshot).statistics("lineno")
    lines = [
        f"resident: {_resident_kib()} KiB",
        f"collected: {', '.join(str(generation['collected']) for generation in gc.get_stats())}",
        f"kept: {sum(each.size for each in found)} bytes in {sum(each.count for each in found)} blocks",
        "",
        "bytes blocks line",
    ]
    for each in found[:_LINES]:
        frame = each.traceback[0]
        lines.append(f"{each.size} {each.count} {frame.filename}:{frame.lineno}")
    return ("\n".join(lines) + "\n").encode()


def by_stack(snapshot: tracemalloc.Snapshot) -> Counter[Stack]:
    """Bytes by the stack that allocated them."""
    weights: Counter[Stack] = Counter()
    for each in _ours(snapshot).statistics("traceback"):
        weights[_stack(each.traceback)] += each.size
    return weights


def _stack(traceback: Iterable[tracemalloc.Frame]) -> Stack:
    return tuple(f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback)


def _ours(snapshot: tracemalloc.Snapshot) -> tracemalloc.Snapshot:
    """Without what the tracing itself needs."""
    return snapshot.filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])


def _resident_kib() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") // 1024
