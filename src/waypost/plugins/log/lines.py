"""Log lines of one turn of the event loop, written with one system call at its end."""

from __future__ import annotations

import asyncio

from waypost.log import Log


class Lines:
    """Collects info lines; shared by every block, so that they come out in the order of the queries."""

    __slots__ = ("_log", "_waiting")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Write `[INFO] text` before the loop waits again."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(f"[INFO] {text}")

    def flush(self) -> None:
        """Write what has been collected."""
        if self._waiting:
            self._log.raw("\n".join(self._waiting))
            self._waiting.clear()
