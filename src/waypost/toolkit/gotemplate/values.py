"""Go's view of the values in a template: names of types, truth, and how they print.

Python's None stands for Go's missing value, str for string, int and float for its numbers, list for slices and dict for
maps with string keys; what else has fields derives from `Struct`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple


class Struct:
    """A value with fields and methods. `go_type` is the type's name in error texts."""

    __slots__ = ()
    go_type = "struct"

    def go_field(self, name: str) -> object:
        """A field's value, or a `Function` for a method. Raises KeyError."""
        raise KeyError(name)


class Function(NamedTuple):
    """What a template may call, with how many arguments at least and at most; ValueError is its way to fail."""

    call: Callable[..., object]
    least: int
    most: int


def type_name(value: object) -> str:
    """The Go type of a value, for error texts."""
    if isinstance(value, Struct):
        return value.go_type
    names = {bool: "bool", str: "string", int: "int", float: "float64", list: "[]string", dict: "map[string]string"}
    return "<nil>" if value is None else names.get(type(value), type(value).__name__)


def is_true(value: object) -> bool:
    """Not the zero value of its type; a struct is always true."""
    return isinstance(value, Struct) or bool(value)


def encode(text: str) -> bytes:
    """The bytes of a Go string: template text may hold ones that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def decode(octets: bytes) -> str:
    """Bytes as a Go string."""
    return octets.decode("utf-8", "surrogateescape")


def text_of(value: object) -> str:
    """A value as `{{ . }}` prints it."""
    return "<no value>" if value is None else plain(value)


def plain(value: object) -> str:
    """A value as `%v` prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{plain(key)}:{plain(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, Sequence):
        return "[" + " ".join(map(plain, value)) + "]"
    return "<nil>" if value is None else str(value)


def float_text(value: float) -> str:
    """The shortest text that reads back as `value`, with an exponent from 1e21 on and below 1e-4."""
    text = repr(value)
    if value and not 1e-4 <= abs(value) < 1e21:
        return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(text, text)
    if value != value:
        return "NaN"
    fixed = format(Decimal(text), "f")
    return fixed.rstrip("0").rstrip(".") if "." in fixed else fixed


def joined(values: Sequence[object]) -> str:
    """Values as Go's `print` puts them together: a blank between two neighbours if neither is a string."""
    parts: list[str] = []
    for n, value in enumerate(values):
        if n and not isinstance(value, str) and not isinstance(values[n - 1], str):
            parts.append(" ")
        parts.append(plain(value))
    return "".join(parts)
