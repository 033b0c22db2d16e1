"""Log lines of some milliseconds, written with one system call: a busy server has hundreds of them by then."""

from __future__ import annotations

import asyncio

from waypost.log import Log

_SECONDS = 0.005
_MANY = 256
_LEVEL = "[INFO] "


class Lines:
    """Collects info lines; shared by every block, so that they come out in the order of the queries.

    Other lines of the same log do not overtake them.
    """

    __slots__ = ("_log", "_timer", "_waiting")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        log.before_each(self.flush)

    def add(self, text: str) -> None:
        """Write `[INFO] text` soon."""
        waiting = self._waiting
        if not waiting:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self.flush)
        waiting.append(text)
        if len(waiting) >= _MANY:
            self.flush()

    def flush(self) -> None:
        """Write what has been collected."""
        if self._waiting:
            assert self._timer is not None
            self._timer.cancel()
            waiting, self._waiting = self._waiting, []
            self._log.raw(_LEVEL + f"\n{_LEVEL}".join(waiting))
