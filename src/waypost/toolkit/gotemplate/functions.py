"""The functions that every template may call. `and` and `or` are not here: they do not evaluate all arguments."""

from __future__ import annotations

from typing import Final

from waypost.toolkit.gotemplate.printf import sprintf
from waypost.toolkit.gotemplate.values import Function, decode, encode, is_true, joined, plain, type_name

_ANY: Final = 255
_KINDS: Final = {bool: "bool", int: "int", float: "float", str: "string"}
LAZY: Final = ("and", "or")


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(encode(value))
    if isinstance(value, list | dict):
        return len(value)
    raise ValueError(f"len of type {type_name(value)}" if value is not None else "len of nil pointer")


def _position(index: object, size: int, *, inclusive: bool) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        what = "index" if inclusive else "cannot index slice/array with"
        raise ValueError(
            f"{what} type {type_name(index)}" if index is not None else "cannot index slice/array with nil"
        )
    if not 0 <= index < size + inclusive:
        raise ValueError(f"index out of range: {index}")
    return index


def _index(value: object, *keys: object) -> object:
    for key in keys:
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise ValueError(f"value has type {type_name(key)}; should be string")
            value = value.get(key, "")
        elif isinstance(value, str):
            octets = encode(value)
            value = octets[_position(key, len(octets), inclusive=False)]
        elif isinstance(value, list):
            value = value[_position(key, len(value), inclusive=False)]
        else:
            raise ValueError(
                "index of untyped nil" if value is None else f"can't index item of type {type_name(value)}"
            )
    return value


def _slice(value: object, *bounds: object) -> object:
    if not isinstance(value, str | list):
        raise ValueError("slice of untyped nil" if value is None else f"can't slice item of type {type_name(value)}")
    if isinstance(value, str) and len(bounds) == 3:
        raise ValueError("cannot 3-index slice a string")
    items = encode(value) if isinstance(value, str) else value
    numbers = [_position(bound, len(items), inclusive=True) for bound in bounds]
    low, high = (numbers + [0, len(items)][len(numbers) :])[:2]
    if low > high:
        raise ValueError(f"invalid slice index: {low} > {high}")
    part = items[low:high]
    return decode(part) if isinstance(part, bytes) else part


def _kind(value: object) -> str:
    kind = _KINDS.get(type(value))
    if kind is None:
        raise ValueError("invalid value; expected reflect.Value" if value is None else "invalid type for comparison")
    return kind


def _equal(first: object, *others: object) -> bool:
    if not others:
        raise ValueError("missing argument for comparison")
    kind = _kind(first)
    for other in others:
        if _kind(other) != kind:
            raise ValueError("incompatible types for comparison")
        if first == other:
            return True
    return False


def _compared(first: object, second: object) -> int:
    """Negative, zero or positive, as `first` is less than, equal to or greater than `second`."""
    kind = _kind(first)
    if kind != _kind(second):
        raise ValueError("incompatible types for comparison")
    if isinstance(first, str) and isinstance(second, str):
        left, right = encode(first), encode(second)
        return (left > right) - (left < right)
    if isinstance(first, bool) or not isinstance(first, int | float) or not isinstance(second, int | float):
        raise ValueError("invalid type for comparison")
    return (first > second) - (first < second)


def _printf(template: object, *arguments: object) -> str:
    if not isinstance(template, str):
        raise ValueError(f"wrong type for value; expected string; got {type_name(template)}")
    return sprintf(template, arguments)


BUILTINS: Final[dict[str, Function]] = {
    "len": Function(_length, 1, 1),
    "index": Function(_index, 1, _ANY),
    "slice": Function(_slice, 1, 4),
    "not": Function(lambda value: not is_true(value), 1, 1),
    "eq": Function(_equal, 1, _ANY),
    "ne": Function(lambda first, second: not _equal(first, second), 2, 2),
    "lt": Function(lambda first, second: _compared(first, second) < 0, 2, 2),
    "le": Function(lambda first, second: _compared(first, second) <= 0, 2, 2),
    "gt": Function(lambda first, second: _compared(first, second) > 0, 2, 2),
    "ge": Function(lambda first, second: _compared(first, second) >= 0, 2, 2),
    "print": Function(lambda *values: joined(values), 0, _ANY),
    "println": Function(lambda *values: " ".join(map(plain, values)) + "\n", 0, _ANY),
    "printf": Function(_printf, 1, _ANY),
}
