"""Standard output that may go away: a closed pipe or a full disk costs log lines, never an answer or a stop."""

from __future__ import annotations

import os
import sys
from typing import TextIO, cast


def standard_output() -> TextIO:
    """Where log lines go: the process's standard output, or nowhere if it has none."""
    if sys.stdout is None:
        return open(os.devnull, "w", encoding="utf-8")
    return cast(TextIO, _Steady(sys.stdout))


class _Steady:
    """As much of a text stream as `Log` needs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as exc:
            self._give_up(exc)
            return 0

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as exc:
            self._give_up(exc)

    def _give_up(self, exc: OSError) -> None:
        """Nobody will ever read a broken pipe again: what is still buffered must not fail at exit."""
        if isinstance(exc, BrokenPipeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
