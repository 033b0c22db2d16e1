"""The functions that templates have besides Go's own."""

from __future__ import annotations

from typing import Final

from waypost.corefile.quoting import quote
from waypost.toolkit.gotemplate.values import Function, type_name

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_PREFIXES: Final = {"0x": 16, "0b": 2, "0o": 8}


def parse_int(text: object, base: object, bits: object) -> int:
    """Go's `strconv.ParseUint`: base 2 to 36, or 0 to go by a prefix; `bits` 0 stands for 64. Raises ValueError."""
    if not isinstance(text, str):
        raise ValueError(f"wrong type for value; expected string; got {type_name(text)}")
    if not isinstance(base, int) or not isinstance(bits, int):
        raise ValueError(
            f"wrong type for value; expected int; got {type_name(bits if isinstance(base, int) else base)}"
        )
    digits = text.lower()
    if base == 0:
        base = _PREFIXES.get(digits[:2], 8 if digits.startswith("0") and len(digits) > 1 else 10)
        digits = digits[2:] if digits[:2] in _PREFIXES else digits
    elif not 2 <= base <= 36:
        raise _refused(text, f"invalid base {base}")
    if not 0 <= bits <= 64:
        raise _refused(text, f"invalid bit size {bits}")
    if not digits or any(digit not in _DIGITS[:base] for digit in digits):
        raise _refused(text, "invalid syntax")
    digits = digits.lstrip("0") or "0"
    # 64 binary digits are enough for any number in range, and Python converts only so many decimal ones.
    value = int(digits, base) if len(digits) <= 64 else 1 << 64
    if value >= 1 << (bits or 64):
        raise _refused(text, "value out of range")
    return value


def _refused(text: str, why: str) -> ValueError:
    return ValueError(f"strconv.ParseUint: parsing {quote(text)}: {why}")


FUNCTIONS: Final = {"parseInt": Function(parse_int, 3, 3)}
