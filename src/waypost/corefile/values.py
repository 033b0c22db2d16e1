"""Typed values in directives: durations, numbers and truth values, read and refused as Go does.

Each parser raises ValueError with Go's text. A plugin gives it a place with `Cursor.parsed`, or a wording of its own.
"""

from __future__ import annotations

import re
from typing import Final

from waypost.corefile.quoting import quote, quote_bytes

NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
MAX_NANOSECONDS: Final = 2**63 - 1
# Digits before the point, digits after it, unit. Cutting digits that no duration needs keeps the numbers small.
DURATION_PART: Final = re.compile(r"0*([0-9]*)(?:\.([0-9]{0,18})[0-9]*)?([^0-9.]*)")
MAX_DIGITS: Final = 19

TRUTH: Final = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)

DIGITS: Final = {
    2: re.compile("[01]+"),
    8: re.compile("[0-7]+"),
    10: re.compile("[0-9]+"),
    16: re.compile("[0-9a-fA-F]+"),
}
BASE_PREFIX: Final = {"0x": 16, "0b": 2, "0o": 8}


def parse_duration(text: str) -> float:
    """Seconds of a Go duration such as `300ms`, `-1.5h` or `2h45m`. Raises ValueError."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    total = 0
    position = 0
    while not position or position < len(rest):
        part = DURATION_PART.match(rest, position)
        if part is None or not re.match(r"[0-9]|\.[0-9]", rest[position : position + 2]):
            raise ValueError(f"time: invalid duration {quote_bytes(text)}")
        whole, fraction, unit = part[1], part[2] or "", part[3]
        if len(whole) > MAX_DIGITS or int(whole or "0") > MAX_NANOSECONDS:
            raise ValueError(f"time: invalid duration {quote_bytes(text)}")
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote_bytes(text)}")
        if unit not in NANOSECONDS:
            raise ValueError(f"time: unknown unit {quote_bytes(unit)} in duration {quote_bytes(text)}")
        scaled = int(whole + fraction or "0") * NANOSECONDS[unit]
        total += scaled // 10 ** len(fraction)
        position = part.end()
        if total > MAX_NANOSECONDS:
            raise ValueError(f"time: invalid duration {quote_bytes(text)}")
    return (-total if text.startswith("-") else total) / NANOSECONDS["s"]


def format_duration(seconds: float) -> str:
    """`seconds` as Go prints a duration: `5m0s`, `1.5s`, `250ms`, `0s`."""
    nanoseconds = round(abs(seconds) * NANOSECONDS["s"])
    sign = "-" if seconds < 0 and nanoseconds else ""
    if nanoseconds == 0:
        return "0s"
    for unit in ("ns", "\u00b5s", "ms"):
        if nanoseconds < NANOSECONDS[unit] * 1_000:
            return f"{sign}{decimal(nanoseconds, NANOSECONDS[unit])}{unit}"
    minutes, remainder = divmod(nanoseconds, NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{decimal(remainder, NANOSECONDS['s'])}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def decimal(value: int, unit: int) -> str:
    """`value / unit` exactly, without trailing zeros; `unit` is a power of ten."""
    whole, remainder = divmod(value, unit)
    fraction = f"{remainder:0{len(str(unit)) - 1}d}".rstrip("0") if remainder else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def parse_int(text: str, bits: int | None = None) -> int:
    """A signed decimal number. Raises ValueError worded as Go's `Atoi`, or with `bits` as its `ParseInt`."""
    function = "Atoi" if bits is None else "ParseInt"
    digits = text[1:] if text[:1] in ("+", "-") else text
    limit = 2 ** ((bits or 64) - 1)
    negative = text.startswith("-")
    value = magnitude(function, text, digits, 10, limit if negative else limit - 1)
    return -value if negative else value


def parse_uint(text: str, bits: int = 64, base: int = 10) -> int:
    """An unsigned number below 2**`bits`; base 0 takes the base from a prefix `0x`, `0o`, `0b` or `0`.

    Raises ValueError worded as Go's `ParseUint`.
    """
    digits = text
    if base == 0:
        base = BASE_PREFIX.get(text[:2].lower(), 0)
        digits = text[2:] if base else text
        base = base or (8 if text.startswith("0") and len(text) > 1 else 10)
    return magnitude("ParseUint", text, digits, base, 2**bits - 1)


def magnitude(function: str, text: str, digits: str, base: int, limit: int) -> int:
    """The value of `digits`, at most `limit`; errors name `function` and show `text`."""
    if not DIGITS[base].fullmatch(digits):
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    significant = digits.lstrip("0")
    # Python limits how many digits it converts, and 64 binary ones are enough for any limit.
    if len(significant) > 64 or int(significant or "0", base) > limit:
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return int(significant or "0", base)


def parse_bool(text: str) -> bool:
    """A truth value: 1, t, T, TRUE, true, True and their opposites. Raises ValueError as Go's `ParseBool`."""
    if text not in TRUTH:
        raise ValueError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")
    return TRUTH[text]
