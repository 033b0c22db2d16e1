"""CoreDNS's log lines: `[INFO] plugin/cache: text` on standard output, without a time stamp.

A `Log` is made once by the process and handed down; nothing here is global.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

_BURST_SECONDS = 30.0
_MAX_REMEMBERED = 256


class Log:
    """Writes lines to one stream; `prefix` is `plugin/NAME: ` for a plugin's own log."""

    __slots__ = ("_now", "_prefix", "_seen", "_shared", "_write")

    def __init__(
        self, stream: TextIO, *, now: Callable[[], float] = time.monotonic, prefix: str = "", parent: Log | None = None
    ) -> None:
        self._write = stream.write
        self._now = now
        self._prefix = prefix
        self._seen: dict[str, float] = {}
        self._shared: _Switch = parent._shared if parent is not None else _Switch(stream)

    def for_plugin(self, name: str) -> Log:
        """A log whose lines begin with `plugin/NAME: `."""
        return Log(self._shared.stream, now=self._now, prefix=f"plugin/{name}: ", parent=self)

    def set_debug(self, on: bool) -> None:
        """Switch `[DEBUG]` lines for the whole process."""
        self._shared.debug = on

    def debug(self, text: str) -> None:
        """A line for developers, dropped unless debug is on."""
        if self._shared.debug:
            self._line("[DEBUG] ", text)

    def info(self, text: str) -> None:
        """Something went as planned."""
        self._line("[INFO] ", text)

    def warning(self, text: str) -> None:
        """Something an operator should look at."""
        self._line("[WARNING] ", text)

    def error(self, text: str) -> None:
        """Something failed."""
        self._line("[ERROR] ", text)

    def fatal(self, text: str) -> None:
        """The last line before the process exits; exiting is the caller's part."""
        self._line("[FATAL] ", text)

    def once_a_burst(self, write: Callable[[str], None], text: str) -> None:
        """Write a line unless the same one was written within 30 s: what clients or peers cause cannot flood."""
        now = self._now()
        if now - self._seen.get(text, -_BURST_SECONDS) < _BURST_SECONDS:
            return
        if len(self._seen) >= _MAX_REMEMBERED:
            self._seen.clear()
        self._seen[text] = now
        write(text)

    def before_each(self, call: Callable[[], None]) -> None:
        """Call this before each line, of this log or one made from it: it may write lines that waited."""
        self._shared.before = call

    def raw(self, text: str) -> None:
        """A line without level, such as the banner."""
        self._shared.before()
        self._write(text + "\n")
        self._shared.stream.flush()

    def _line(self, level: str, text: str) -> None:
        self._shared.before()
        text = text.replace("\n", "\\n") if "\n" in text and level != "[ERROR] " else text
        self._write(f"{level}{self._prefix}{text}\n")
        self._shared.stream.flush()


class _Switch:
    """What a log and the plugin logs made from it have in common."""

    __slots__ = ("before", "debug", "stream")

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.debug = False
        self.before: Callable[[], None] = lambda: None
