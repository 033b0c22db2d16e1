"""What is not answered yet: it is kept alive here, counted, and waited for when a server goes."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Waiting:
    """A set of things that end some time. Who stops waits until it is empty."""

    __slots__ = ("_empty", "_things")

    def __init__(self) -> None:
        self._things: set[object] = set()
        self._empty: asyncio.Event | None = None

    def __len__(self) -> int:
        return len(self._things)

    def add(self, thing: object) -> None:
        """It has begun."""
        self._things.add(thing)

    def discard(self, thing: object) -> None:
        """It has ended."""
        self._things.discard(thing)
        if self._empty is not None and not self._things:
            self._empty.set()

    async def ended(self, seconds: float) -> None:
        """Wait until everything has ended, but no longer than this."""
        if self._things:
            self._empty = asyncio.Event()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._empty.wait()
