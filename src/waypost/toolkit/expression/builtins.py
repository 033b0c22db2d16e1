"""The functions that the language itself has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from waypost.toolkit.expression.errors import EvaluationError
from waypost.toolkit.expression.values import Function, Kind, array, name_of, number, text

_TEXT: Final = Kind.STRING


def _length(value: object) -> int:
    if not isinstance(value, str | list):
        raise EvaluationError(f"invalid argument for len (type {name_of(value)})")
    return len(value)


def _whole(value: object) -> int:
    try:
        return int(value) if isinstance(value, str) else int(number(value))
    except (ValueError, OverflowError) as exc:
        raise EvaluationError(f"invalid operation: int({value!r})") from exc


def _float(value: object) -> float:
    try:
        return float(value) if isinstance(value, str) else float(number(value))
    except (ValueError, OverflowError) as exc:
        raise EvaluationError(f"invalid operation: float({value!r})") from exc


def _printed(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _split(value: str, separator: str) -> list[str]:
    return value.split(separator) if separator else list(value)


def _plain(call: Callable[..., object]) -> Callable[..., object]:
    """Leave out the context, which only the functions of the embedding program get."""
    return lambda context, *arguments: call(*arguments)


def _edge(at: int) -> Callable[[object], object]:
    def edge(value: object) -> object:
        members = array(value)
        return members[at] if members else None

    return edge


BUILTINS: Final[dict[str, Function]] = {
    name: function._replace(call=_plain(function.call))
    for name, function in {
        "len": Function(Kind.INT, (Kind.ANY,), _length),
        "lower": Function(_TEXT, (_TEXT,), lambda value: text(value).lower()),
        "upper": Function(_TEXT, (_TEXT,), lambda value: text(value).upper()),
        "trim": Function(_TEXT, (_TEXT,), lambda value: text(value).strip()),
        "trimPrefix": Function(_TEXT, (_TEXT, _TEXT), lambda value, end: text(value).removeprefix(text(end))),
        "trimSuffix": Function(_TEXT, (_TEXT, _TEXT), lambda value, end: text(value).removesuffix(text(end))),
        "hasPrefix": Function(Kind.BOOL, (_TEXT, _TEXT), lambda value, end: text(value).startswith(text(end))),
        "hasSuffix": Function(Kind.BOOL, (_TEXT, _TEXT), lambda value, end: text(value).endswith(text(end))),
        "indexOf": Function(Kind.INT, (_TEXT, _TEXT), lambda value, part: text(value).find(text(part))),
        "lastIndexOf": Function(Kind.INT, (_TEXT, _TEXT), lambda value, part: text(value).rfind(text(part))),
        "split": Function(Kind.ARRAY, (_TEXT, _TEXT), lambda value, by: _split(text(value), text(by))),
        "join": Function(_TEXT, (Kind.ARRAY, _TEXT), lambda value, by: text(by).join(map(text, array(value)))),
        "first": Function(Kind.ANY, (Kind.ARRAY,), _edge(0)),
        "last": Function(Kind.ANY, (Kind.ARRAY,), _edge(-1)),
        "abs": Function(Kind.ANY, (Kind.ANY,), lambda value: abs(number(value))),
        "int": Function(Kind.INT, (Kind.ANY,), _whole),
        "float": Function(Kind.FLOAT, (Kind.ANY,), _float),
        "string": Function(_TEXT, (Kind.ANY,), _printed),
    }.items()
}
"""By name."""

NOT_YET: Final = frozenset(
    ("all", "any", "none", "one", "filter", "map", "count", "find", "findIndex", "findLast", "findLastIndex",
    "groupBy", "sortBy", "reduce", "sum", "mean", "median", "min", "max", "sort", "concat", "flatten", "uniq",
    "reverse", "take", "keys", "values", "toPairs", "fromPairs", "now", "duration", "date", "timezone",
    "toJSON", "fromJSON", "toBase64", "fromBase64", "bitand", "bitor", "bitxor", "bitnand", "bitnot",
    "bitshl", "bitshr", "bitushr", "ceil", "floor", "round", "get", "splitAfter", "repeat", "replace")
)  # fmt: skip
"""Functions of the language that are not here."""
