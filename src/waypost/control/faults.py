"""Exceptions that nobody caught."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, Protocol

from waypost.log import Log


class Serving(Protocol):
    """Who serves where it happened."""

    log: Log

    @property
    def debugging(self) -> bool:
        """True if a fault of a plugin is to end the process."""
        ...


def unhandled(serving: Serving, context: dict[str, Any], end: Callable[[int], None]) -> None:
    """An exception nobody caught: with `debug` in the Corefile a plugin's fault ends here, and the process with it."""
    exc = context.get("exception")
    text = context.get("message", "")
    log = serving.log
    if isinstance(exc, OSError):  # no fault of ours: too many open files, no memory for a socket
        log.once_a_burst(log.error, f"{text}: {exc}")
        return
    if exc is not None:
        text = "".join(traceback.format_exception(exc))
    log.error(f"{text.rstrip()}")
    if exc is not None and serving.debugging:
        end(2)
