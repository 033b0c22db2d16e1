"""Where frames leave, and the count of those that did not. No query waits for it."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from waypost.log import Log
from waypost.metrics.registry import Counter

_REPORT_SECONDS: Final = 10.0


class Outlet(Protocol):
    """Takes frames, never waits."""

    def wants(self) -> bool:
        """False if a frame made now would be lost, which is counted then."""
        ...

    def send(self, payload: bytes) -> None:
        """Send it soon, or drop it, counted."""
        ...

    async def start(self) -> None:
        """Begin; nothing is raised if it cannot be done yet."""
        ...


class Drops:
    """Frames that were lost: counted, and told of every ten seconds in which there were some."""

    __slots__ = ("_counter", "_log", "_untold")

    def __init__(self, counter: Counter, log: Log) -> None:
        self._counter = counter
        self._log = log
        self._untold = 0

    def add(self, count: int = 1) -> None:
        """So many more."""
        self._counter.inc(count)
        if not self._untold:
            asyncio.get_running_loop().call_later(_REPORT_SECONDS, self._tell)
        self._untold += count

    def _tell(self) -> None:
        self._log.warning(f"Dropped dnstap messages: {self._untold}")
        self._untold = 0
