"""The time in front of a log line: RFC 3339 as container runtimes write it, older shapes, and klog's without a year."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from waypost.querylog.durations import parse_duration

_SECOND: Final = "[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE: Final = "Z|UTC|[+-][0-9]{2}:?[0-9]{2}"
STAMP: Final = (
    rf"(?:{_SECOND}(?:[.,][0-9]+)?(?: ?(?:{_ZONE}))?|[IWEF][0-9]{{4}} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]+)?)"
)
"""A pattern without groups for any of them."""
_FULL: Final = re.compile(rf"({_SECOND})(?:[.,]([0-9]+))?(?: ?({_ZONE}))?")
_KLOG: Final = re.compile(r"\b[IWEF]([0-9]{2})([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?")
MAX_TIME: Final = 1e11
# A log written by a clock that is ahead, or read on one that is behind, is still of this year.
_AHEAD: Final = timedelta(days=1)


class Clock:
    """Reads the times of lines. `now` is Unix time: a time without a year is in the year before it."""

    __slots__ = ("_last", "_now", "_whole")

    def __init__(self, now: float) -> None:
        self._now = datetime.fromtimestamp(now, UTC)
        # Lines of one second come together: its Unix time is worked out once.
        self._last: tuple[str, str | None] = ("", None)
        self._whole = 0.0

    def find(self, text: str, end: int | None = None) -> float | None:
        """Unix time of the first time within text[:end]; without a zone it is UTC. None if there is none."""
        found = _FULL.search(text) if end is None else _FULL.search(text, 0, end)
        if found is None:
            found = _KLOG.search(text[:end])
            return None if found is None else self._yearless(found)
        second, fraction, zone = found.groups()
        if (second, zone) != self._last:
            whole = _unix(second, zone)
            if whole is None:
                return None
            self._last, self._whole = (second, zone), whole
        return self._whole + float(f"0.{fraction}") if fraction else self._whole

    def _yearless(self, found: re.Match[str]) -> float | None:
        month, day, hour, minute, second = map(int, found.groups()[:5])
        for year in (self._now.year, self._now.year - 1):
            try:
                made = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                continue
            if made <= self._now + _AHEAD:
                return made.timestamp() + float(f"0.{found[6] or 0}")
        return None


def parse_moment(text: str, now: float) -> float:
    """Unix time of an RFC 3339 time or date (UTC without a zone), or of a duration before `now`: `90m`, `2h30m`.

    Raises ValueError.
    """
    ago = parse_duration(text)
    if ago is not None:
        return now - ago
    try:
        made = datetime.fromisoformat(text)
        return (made if made.tzinfo else made.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        wanted = "a time such as 2024-05-01T12:00:00Z, or a duration such as 90m"
        raise ValueError(f"expected {wanted}, got '{text}'") from None


def format_moment(time: float) -> str:
    """RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _unix(second: str, zone: str | None) -> float | None:
    """None for a time that does not exist, or outside the years 1970 to 5138."""
    text = second.replace("/", "-").replace(" ", "T") + ("Z" if zone in (None, "UTC") else str(zone))
    try:
        time = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return time if 0 <= time < MAX_TIME else None
