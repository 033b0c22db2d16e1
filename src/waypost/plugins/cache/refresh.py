"""Refreshes under way: at most one for each key, a bounded number in all, and none left when the cache stops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from waypost.plugins.cache.item import Key
from waypost.wire.reply import Reply

Refresh = asyncio.Task[Reply | None]
"""Gives the new reply, None if the source had none to give. It does not raise."""

_MAX_REFRESHES = 1000


class Refreshes:
    """The tasks by key."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: dict[Key, Refresh] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def get(self, key: Key) -> Refresh | None:
        """The refresh of this key that is under way."""
        return self._tasks.get(key)

    @property
    def full(self) -> bool:
        """True if no more may be started in the background."""
        return len(self._tasks) >= _MAX_REFRESHES

    def start(self, key: Key, work: Coroutine[None, None, Reply | None]) -> Refresh:
        """Run `work` as the refresh of this key, of which none is under way."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))
        return task

    async def stop(self) -> None:
        """End what is under way, and wait until it has ended."""
        await asyncio.sleep(0)  # one that has not begun yet would leave behind what it was to wait for
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
