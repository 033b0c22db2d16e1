"""Go's `printf`: `%v %s %d %q %x` and the rest, with its notes on what does not fit: `%!d(string=x)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from waypost.corefile.quoting import quote
from waypost.toolkit.gotemplate.values import encode, plain, type_name

_DIRECTIVE: Final = re.compile(r"%([-+# 0]*)(?:\[([0-9]+)\])?([0-9]+|\*)?(?:(\.)([0-9]*))?(.?)", re.DOTALL)
_MAX_WIDTH: Final = 1_000_000
_BASES: Final = {"d": "d", "b": "b", "o": "o", "x": "x", "X": "X"}
_PREFIXES: Final = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}


class _Spec(NamedTuple):
    flags: str
    width: int
    precision: int | None
    verb: str


def sprintf(template: str, arguments: Sequence[object]) -> str:
    """The text; never fails, like Go's."""
    out: list[str] = []
    position = used = 0
    reordered = False
    while (found := _DIRECTIVE.search(template, position)) is not None:
        out.append(template[position : found.start()])
        position = found.end()
        flags, index, width, dot, digits, verb = found.groups()
        if verb == "%":
            out.append("%")
            continue
        if not verb:
            out.append("%!(NOVERB)")
            continue
        size = 0
        if width == "*":
            taken = arguments[used] if used < len(arguments) else None
            used += 1
            if isinstance(taken, int) and abs(taken) <= _MAX_WIDTH:
                size = abs(taken)
                flags += "-" if taken < 0 else ""
            else:
                out.append("%!(BADWIDTH)")
        elif width:
            size = min(int(width[:8]), _MAX_WIDTH)
        if index is not None:
            used, reordered = int(index[:8]) - 1, True
        if not 0 <= used < len(arguments):
            out.append(f"%!{verb}({'BADINDEX' if index is not None else 'MISSING'})")
            continue
        precision = min(int(digits[:8] or "0"), _MAX_WIDTH) if dot else None
        out.append(_formatted(_Spec(flags, size, precision, verb), arguments[used]))
        used += 1
    out.append(template[position:])
    if used < len(arguments) and not reordered:
        extra = ", ".join(f"{type_name(value)}={plain(value)}" for value in arguments[used:])
        out.append(f"%!(EXTRA {extra})")
    return "".join(out)


def _formatted(spec: _Spec, value: object) -> str:
    if spec.verb == "T":
        return _padded(spec, type_name(value))
    if spec.verb == "v":
        return _padded(spec, _signed(spec, plain(value)) if _is_number(value) else plain(value))
    form: Callable[[_Spec, object], str | None] = _other
    if isinstance(value, bool):
        form = _boolean
    elif isinstance(value, str):
        form = _string
    elif isinstance(value, int):
        form = _integer
    elif isinstance(value, float):
        form = _float
    text = form(spec, value)
    if text is None:
        shown = "<nil>" if value is None else f"{type_name(value)}={plain(value)}"
        return f"%!{spec.verb}({shown})"
    return _padded(spec, text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _boolean(spec: _Spec, value: object) -> str | None:
    return plain(value) if spec.verb == "t" else None


def _string(spec: _Spec, value: object) -> str | None:
    text = str(value) if spec.precision is None else str(value)[: spec.precision]
    if spec.verb == "s":
        return text
    if spec.verb == "q":
        raw = "#" in spec.flags and "`" not in text and text.isprintable()
        return f"`{text}`" if raw else quote(text)
    if spec.verb in "xX":
        octets = encode(text)
        digits = octets.hex(" ") if " " in spec.flags else octets.hex()
        digits = f"0x{digits}" if "#" in spec.flags and digits else digits
        return digits.upper() if spec.verb == "X" else digits
    return None


def _integer(spec: _Spec, value: object) -> str | None:
    assert isinstance(value, int)
    if spec.verb in _BASES:
        digits = format(abs(value), _BASES[spec.verb])
        if spec.precision is not None:
            digits = digits.zfill(spec.precision)
        elif "0" in spec.flags and "-" not in spec.flags:
            digits = digits.zfill(spec.width - (value < 0 or "+" in spec.flags))
        if "#" in spec.flags:
            digits = _PREFIXES.get(spec.verb, "") + digits
        return _signed(spec, f"-{digits}" if value < 0 else digits)
    valid = 0 <= value <= 0x10FFFF and not 0xD800 <= value < 0xE000
    char = chr(value) if valid else "\ufffd"
    forms = {"c": char, "q": f"'{quote(char)[1:-1]}'", "U": f"U+{value:04X}"}
    return forms.get(spec.verb)


def _float(spec: _Spec, value: object) -> str | None:
    assert isinstance(value, float)
    if spec.verb in "eEfF":
        precision = 6 if spec.precision is None else spec.precision
        text = format(value, f".{precision}{spec.verb}")
    elif spec.verb in "gG":
        text = plain(value) if spec.precision is None else format(value, f".{spec.precision}{spec.verb}")
    else:
        return None
    text = _signed(spec, text)
    return text.zfill(spec.width) if "0" in spec.flags and "-" not in spec.flags else text


def _other(spec: _Spec, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, list) and spec.verb in "sqxX":
        return "[" + " ".join(_formatted(spec._replace(width=0), item) for item in value) + "]"
    return plain(value) if spec.verb == "s" and not isinstance(value, dict) else None


def _signed(spec: _Spec, text: str) -> str:
    if text.startswith("-"):
        return text
    return ("+" if "+" in spec.flags else " " if " " in spec.flags else "") + text


def _padded(spec: _Spec, text: str) -> str:
    missing = spec.width - len(text)
    if missing <= 0:
        return text
    if "-" in spec.flags:
        return text + " " * missing
    return ("0" if "0" in spec.flags and spec.verb in "sqv" else " ") * missing + text
