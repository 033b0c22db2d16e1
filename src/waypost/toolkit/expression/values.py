"""Kinds of values, and what a part of an expression is compiled to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from waypost.toolkit.expression.errors import EvaluationError


class Kind(Enum):
    """What is known of a value before there is one; the value is the name in error texts."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float64"
    STRING = "string"
    ARRAY = "[]interface {}"
    NIL = "nil"
    ANY = "unknown"


NUMBERS: Final = frozenset((Kind.INT, Kind.FLOAT))


class Frame(NamedTuple):
    """What an expression is evaluated over: the context of its functions, and the values of `let`, by number."""

    context: object
    variables: list[object]


Run = Callable[[Frame], object]


@dataclass(frozen=True, slots=True)
class Part:
    """A compiled part. `at` is its offset; a constant one needs no frame."""

    kind: Kind
    run: Run
    at: int
    constant: bool = False


class Function(NamedTuple):
    """What can be called. `call` gets the context and then the arguments; it may raise EvaluationError."""

    result: Kind
    parameters: tuple[Kind, ...]
    call: Callable[..., object]


def constant(kind: Kind, value: object, at: int) -> Part:
    """A part that is always this value."""
    return Part(kind, lambda frame: value, at, constant=True)


def folded(part: Part) -> Part:
    """A constant part with its value worked out now. Raises EvaluationError."""
    return constant(part.kind, part.run(Frame(None, [])), part.at) if part.constant else part


def fits(kind: Kind, wanted: Kind) -> bool:
    """True if a value of one kind may stand where the other is wanted."""
    return wanted in (kind, Kind.ANY) or kind is Kind.ANY or (wanted is Kind.FLOAT and kind is Kind.INT)


def text(value: object) -> str:
    """The value, which must be a string."""
    if not isinstance(value, str):
        raise EvaluationError(f"{name_of(value)} is no string")
    return value


def number(value: object) -> int | float:
    """The value, which must be a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EvaluationError(f"{name_of(value)} is no number")
    return value


def truth(value: object) -> bool:
    """The value, which must be a bool."""
    if not isinstance(value, bool):
        raise EvaluationError(f"{name_of(value)} is no bool")
    return value


def array(value: object) -> list[object]:
    """The value, which must be an array."""
    if not isinstance(value, list):
        raise EvaluationError(f"{name_of(value)} is no array")
    return value


def same(left: object, right: object) -> bool:
    """Equality; a bool equals no number."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def name_of(value: object) -> str:
    """The kind of a value in an error text."""
    names = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING, list: Kind.ARRAY}
    return names.get(type(value), Kind.NIL).value
