"""Stacks seen a hundred times a second: those that compute, and those that keep the loop from turning.

For what computes, a timer of CPU time interrupts the loop's thread (`SIGPROF`): a thread that looks would be let in
only where the loop's thread waits, and see nothing else. For what holds the loop a thread is right, because it must
look while nothing else moves.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections import Counter
from types import FrameType
from typing import Final

from waypost.plugins.pprof.cpu import Unavailable
from waypost.plugins.pprof.stacks import Stack, thread_stack

_INTERVAL: Final = 0.01
_MILLISECONDS: Final = round(_INTERVAL * 1000)


async def sample(seconds: float) -> Counter[Stack]:
    """How often each stack of the loop's thread was seen, once each 10 ms of CPU time. Raises Unavailable."""
    seen: Counter[Stack] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        if frame is not None:
            seen[thread_stack(frame)] += 1

    try:
        signal.signal(signal.SIGPROF, look)
    except ValueError as exc:  # only the main thread may
        raise Unavailable(str(exc)) from exc
    try:
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
        await asyncio.sleep(seconds)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        # A last signal may still be on its way, and by default it would end the process.
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
    return seen


async def sample_holds(seconds: float, shortest: float) -> Counter[Stack]:
    """Milliseconds by stack in which the loop had not come round for at least `shortest` seconds."""
    loop = asyncio.get_running_loop()
    ident = threading.get_ident()
    held: Counter[Stack] = Counter()
    beat = _Beat()
    ended = threading.Event()

    def watch() -> None:
        deadline = time.monotonic() + seconds
        while (now := time.monotonic()) < deadline and not ended.wait(_INTERVAL):
            if beat.came:
                beat.expect(loop)
            elif now - beat.since >= shortest:
                held[thread_stack(sys._current_frames()[ident])] += _MILLISECONDS

    try:
        await asyncio.to_thread(watch)
    finally:
        ended.set()
    return held


class _Beat:
    """A call that the loop was asked for, since when, and whether it came."""

    __slots__ = ("came", "since")

    def __init__(self) -> None:
        self.came = True
        self.since = 0.0

    def expect(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask for the next one."""
        self.came = False
        self.since = time.monotonic()
        loop.call_soon_threadsafe(self._come)

    def _come(self) -> None:
        self.came = True
