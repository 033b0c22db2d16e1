"""Durations as query logs write them: `0.000123s`, and as Go does: `142.282µs`, `1m2.5s`."""

from __future__ import annotations

import re
from typing import Final

MAX_SECONDS: Final = 1e6
_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3,
    "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-z\u00b5\u03bc]+)")


def parse_duration(text: str) -> float | None:
    """Seconds; None for what is no duration or longer than MAX_SECONDS."""
    seconds = 0.0
    end = 0
    while end < len(text):
        part = _PART.match(text, end)
        if part is None or part[2] not in _UNITS:
            return None
        seconds += float(part[1]) * _UNITS[part[2]]
        end = part.end()
    return seconds if text and seconds <= MAX_SECONDS else None


def format_duration(seconds: float) -> str:
    """Three significant digits and a fitting unit: `142 us`, `3.1 ms`, `5 s`."""
    for unit, name in ((1e-6, "us"), (1e-3, "ms")):
        if seconds < 999.5 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"
