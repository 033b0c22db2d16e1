"""Work that goes on beside the event loop's other work from a start to a stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any


class Background:
    """At most one task at a time."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin, if nothing is under way; needs the running event loop."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(work())

    async def stop(self) -> None:
        """End it, and wait until it has ended. What it failed with is raised."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
