"""What is not answered yet: it is counted, tasks are kept alive, and it is waited for when a server goes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any


class Waiting:
    """Things that end some time. Who stops waits until there are none."""

    __slots__ = ("_count", "_empty", "_tasks")

    def __init__(self) -> None:
        self._count = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._empty: asyncio.Event | None = None

    def __len__(self) -> int:
        return self._count

    def begin(self) -> None:
        """One more."""
        self._count += 1

    def end(self) -> None:
        """One less."""
        self._count -= 1
        if self._empty is not None and not self._count:
            self._empty.set()

    def add(self, task: asyncio.Task[Any]) -> None:
        """A task has begun; it is one of them until it is done."""
        self._count += 1
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self.end()

    async def ended(self, seconds: float) -> None:
        """Wait until everything has ended, but no longer than this."""
        if self._count:
            self._empty = asyncio.Event()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._empty.wait()
