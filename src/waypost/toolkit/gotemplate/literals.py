"""Go's number, string and character literals to Python values."""

from __future__ import annotations

import re
from typing import Final

_SIMPLE: Final = {
    "a": 7,
    "b": 8,
    "f": 12,
    "n": 10,
    "r": 13,
    "t": 9,
    "v": 11,
    "\\": 0x5C,
}
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\\"'])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-7]{3})|())", re.DOTALL
)
_UNDERSCORES: Final = re.compile(r"(?:0[xXbBoO]_?)?[0-9A-Fa-f]+(?:_[0-9A-Fa-f]+)*")
_FLOAT: Final = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX_FLOAT: Final = re.compile(r"0[xX][0-9A-Fa-f]*\.?[0-9A-Fa-f]*[pP][+-]?[0-9]{1,4}")
_BASES: Final = {"0x": 16, "0b": 2, "0o": 8}


def unquote(text: str, quote: str) -> str:
    """The value of a literal in `quote`s; bytes that are no UTF-8 become surrogate escapes. Raises ValueError."""
    out = bytearray()
    position, end = 1, len(text) - 1
    while position < end:
        if text[position] != "\\":
            out += text[position].encode("utf-8", "surrogateescape")
            position += 1
            continue
        found = _ESCAPE.match(text, position, end)
        if found is None or found.lastindex == 6:
            raise ValueError("invalid syntax")
        out += _escaped(found, quote)
        position = found.end()
    return out.decode("utf-8", "surrogateescape")


def _escaped(found: re.Match[str], quote: str) -> bytes:
    simple, two, four, eight, octal, _ = found.groups()
    if simple:
        if simple in "\"'":
            if simple != quote:
                raise ValueError("invalid syntax")
            return simple.encode()
        return bytes((_SIMPLE[simple],))
    if two or octal:
        value = int(two, 16) if two else int(octal, 8)
        if value > 0xFF:
            raise ValueError("invalid syntax")
        return bytes((value,))
    code = int(four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError("invalid syntax")
    return chr(code).encode()


def string(text: str) -> str:
    """A string literal in double quotes or backquotes. Raises ValueError."""
    return text[1:-1].replace("\r", "") if text.startswith("`") else unquote(text, '"')


def character(text: str) -> int:
    """The code point of a character literal. Raises ValueError."""
    value = unquote(text, "'")
    if len(value) != 1:
        raise ValueError("invalid syntax")
    return ord(value)


def number(text: str) -> int | float:
    """A number literal: decimal, `0x`, `0o`, `0b`, a leading 0 for octal, underscores, floats. Raises ValueError."""
    sign = -1 if text.startswith("-") else 1
    digits = text[1:] if text[:1] in ("+", "-") else text
    if "_" in digits:
        if not _UNDERSCORES.fullmatch(digits):
            raise ValueError("invalid syntax")
        digits = digits.replace("_", "")
    if _HEX_FLOAT.fullmatch(digits):
        return sign * float.fromhex(digits)
    if digits.isascii() and digits.isdigit() and digits.startswith("0"):
        return _within(sign * int(digits, 8))
    base = _BASES.get(digits[:2].lower())
    if base is not None:
        return _within(sign * int(digits[2:], base))
    if digits.isascii() and digits.isdigit():
        return _within(sign * int(digits))
    if not _FLOAT.fullmatch(digits):
        raise ValueError("invalid syntax")
    return sign * float(digits)


def _within(value: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise ValueError("integer overflow")
    return value
