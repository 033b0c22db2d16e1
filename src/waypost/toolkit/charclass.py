"""Character classes of Go's regular expressions as sets of code points, written for Python's `re`.

Python's own `\\d`, `\\s` and `\\w` know all of Unicode while Go's are ASCII, and it has no `[[:alpha:]]` and no `\\pL`;
so every class is worked out here and written as plain ranges.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import Final

Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of code points."""

MAX_CODE_POINT: Final = 0x10FFFF
_CATEGORY: Final = re.compile("[CLMNPSZ][a-z]?")


def _of(*spans: str) -> Ranges:
    """Ranges from texts of two characters (`az`) or one."""
    return tuple((ord(span[0]), ord(span[-1])) for span in spans)


_DIGIT: Final = _of("09")
_SPACE: Final = _of("\t\n", "\f\r", " ")
_WORD: Final = _of("09", "AZ", "_", "az")

PERL: Final = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
POSIX: Final = {
    "alnum": _of("09", "AZ", "az"),
    "alpha": _of("AZ", "az"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t", " "),
    "cntrl": _of("\x00\x1f", "\x7f"),
    "digit": _DIGIT,
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/", ":@", "[`", "{~"),
    "space": _of("\t\r", " "),
    "upper": _of("AZ"),
    "word": _WORD,
    "xdigit": _of("09", "AF", "af"),
}


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Every code point outside `ranges`, which may overlap and come in any order."""
    out = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            out.append((start, low - 1))
        start = max(start, high + 1)
    if start <= MAX_CODE_POINT:
        out.append((start, MAX_CODE_POINT))
    return tuple(out)


@lru_cache(maxsize=64)
def category(name: str) -> Ranges | None:
    """The code points of a Unicode general category (`L`, `Lu`) or of `Any`; None for any other name."""
    if name == "Any":
        return ((0, MAX_CODE_POINT),)
    if not _CATEGORY.fullmatch(name):
        return None
    members = (code for code in range(MAX_CODE_POINT + 1) if unicodedata.category(chr(code)).startswith(name))
    # In a run of neighbours, code point and position grow together.
    runs = [list(run) for _, run in groupby(enumerate(members), lambda pair: pair[1] - pair[0])]
    return tuple((run[0][1], run[-1][1]) for run in runs) or None


def pattern(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> str:
    """A class for `re` that matches one character within `ranges`, or outside of them."""
    spans = sorted(ranges)
    if not spans:
        return r"[\s\S]" if negated else "(?!)"
    body = "".join(_escape(low) if low == high else f"{_escape(low)}-{_escape(high)}" for low, high in spans)
    return f"[{'^' if negated else ''}{body}]"


def _escape(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"
