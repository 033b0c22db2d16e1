"""The operators: how tightly they bind, what they take, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from waypost.toolkit.expression.errors import EvaluationError
from waypost.toolkit.expression.values import NUMBERS, Frame, Kind, Part, Run, array, name_of, number, same, text, truth
from waypost.toolkit.regexp import Regexp, compile_regexp

_MAX_POWER: Final = 1024
_MAX_TEXT: Final = 65_536

UNARY: Final = {"not": 50, "!": 50, "-": 90, "+": 90}
"""How tightly unary operators bind."""


class Binary(NamedTuple):
    """How tightly it binds, and how it is compiled; None for kinds that it does not take."""

    binding: int
    make: Callable[[Part, Part], tuple[Kind, Run] | None]
    right: bool = False


def negated(part: Part) -> tuple[Kind, Run] | None:
    """`not` and `!`."""
    run = part.run
    if part.kind not in (Kind.BOOL, Kind.ANY):
        return None
    return Kind.BOOL, lambda frame: not truth(run(frame))


def signed(part: Part, sign: int) -> tuple[Kind, Run] | None:
    """Unary `-` and `+`."""
    run = part.run
    if part.kind not in NUMBERS and part.kind is not Kind.ANY:
        return None
    return part.kind, lambda frame: sign * number(run(frame))


def _both(left: Part, right: Part, *kinds: Kind) -> bool:
    return all(part.kind in kinds or part.kind is Kind.ANY for part in (left, right))


def _and(left: Part, right: Part) -> tuple[Kind, Run] | None:
    a, b = left.run, right.run
    if not _both(left, right, Kind.BOOL):
        return None
    return Kind.BOOL, lambda frame: truth(a(frame)) and truth(b(frame))


def _or(left: Part, right: Part) -> tuple[Kind, Run] | None:
    a, b = left.run, right.run
    if not _both(left, right, Kind.BOOL):
        return None
    return Kind.BOOL, lambda frame: truth(a(frame)) or truth(b(frame))


def _equality(equal: bool) -> Callable[[Part, Part], tuple[Kind, Run] | None]:
    def make(left: Part, right: Part) -> tuple[Kind, Run] | None:
        a, b = left.run, right.run
        kinds = {left.kind, right.kind}
        if len(kinds) > 1 and not kinds <= NUMBERS and not kinds & {Kind.ANY, Kind.NIL}:
            return None
        return Kind.BOOL, lambda frame: same(a(frame), b(frame)) == equal

    return make


def _order(
    numbers: Callable[[float, float], bool], texts: Callable[[str, str], bool]
) -> Callable[[Part, Part], tuple[Kind, Run] | None]:
    def compared(left: object, right: object) -> bool:
        if isinstance(left, str):
            return texts(left, text(right))
        return numbers(number(left), number(right))

    def make(left: Part, right: Part) -> tuple[Kind, Run] | None:
        a, b = left.run, right.run
        if not _both(left, right, *NUMBERS) and not _both(left, right, Kind.STRING):
            return None
        return Kind.BOOL, lambda frame: compared(a(frame), b(frame))

    return make


def _in(left: Part, right: Part) -> tuple[Kind, Run] | None:
    a, b = left.run, right.run
    if right.kind not in (Kind.ARRAY, Kind.ANY):
        return None
    if right.constant and left.kind is Kind.STRING:
        members = frozenset(member for member in array(b(Frame(None, []))) if isinstance(member, str))
        return Kind.BOOL, lambda frame: a(frame) in members

    def run(frame: Frame) -> bool:
        value = a(frame)
        return any(same(value, member) for member in array(b(frame)))

    return Kind.BOOL, run


def _matches(left: Part, right: Part) -> tuple[Kind, Run] | None:
    """A constant pattern is compiled once. Raises ValueError for a bad one."""
    a, b = left.run, right.run
    if not _both(left, right, Kind.STRING):
        return None
    if right.constant:
        search = compile_regexp(text(b(Frame(None, [])))).search
        return Kind.BOOL, lambda frame: search(text(a(frame))) is not None

    def run(frame: Frame) -> bool:
        try:
            return _compiled(text(b(frame))).search(text(a(frame))) is not None
        except ValueError as exc:
            raise EvaluationError(str(exc)) from exc

    return Kind.BOOL, run


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Regexp:
    return compile_regexp(pattern)


def _on_texts(test: Callable[[str, str], bool]) -> Callable[[Part, Part], tuple[Kind, Run] | None]:
    def make(left: Part, right: Part) -> tuple[Kind, Run] | None:
        a, b = left.run, right.run
        if not _both(left, right, Kind.STRING):
            return None
        return Kind.BOOL, lambda frame: test(text(a(frame)), text(b(frame)))

    return make


def _plus(left: Part, right: Part) -> tuple[Kind, Run] | None:
    a, b = left.run, right.run
    if _both(left, right, *NUMBERS) or _both(left, right, Kind.STRING):
        return _joint(left, right), lambda frame: _sum(a(frame), b(frame))
    return None


def _sum(left: object, right: object) -> object:
    if not isinstance(left, str):
        return number(left) + number(right)
    joined = left + text(right)
    if len(joined) > _MAX_TEXT:
        raise EvaluationError("text too long")
    return joined


def _arithmetic(
    work: Callable[[float, float], float], *, result: Kind | None = None, taken: frozenset[Kind] = NUMBERS
) -> Callable[[Part, Part], tuple[Kind, Run] | None]:
    def worked(left: object, right: object) -> float:
        try:
            return work(number(left), number(right))
        except (ArithmeticError, ValueError) as exc:
            raise EvaluationError(str(exc)) from exc

    def make(left: Part, right: Part) -> tuple[Kind, Run] | None:
        a, b = left.run, right.run
        if not _both(left, right, *taken):
            return None
        return result or _joint(left, right), lambda frame: worked(a(frame), b(frame))

    return make


def _joint(left: Part, right: Part) -> Kind:
    kinds = {left.kind, right.kind}
    if len(kinds) == 1:
        return left.kind
    return Kind.ANY if Kind.ANY in kinds else Kind.FLOAT


def _remainder(left: float, right: float) -> float:
    """With the sign of the left side, as in Go."""
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _power(left: float, right: float) -> float:
    if abs(right) > _MAX_POWER:
        raise EvaluationError("exponent too large")
    value: float = float(left) ** right
    return value


def _otherwise(left: Part, right: Part) -> tuple[Kind, Run] | None:
    """`??`: the right side where the left one is nil or has no value."""
    a, b = left.run, right.run

    def run(frame: Frame) -> object:
        try:
            value = a(frame)
        except EvaluationError:
            value = None
        return b(frame) if value is None else value

    return (left.kind if left.kind is right.kind else Kind.ANY), run


def indexed(left: object, at: object) -> object:
    """`left[at]`; a negative index counts from the end."""
    index = number(at)
    if not isinstance(index, int) or not isinstance(left, str | list):
        raise EvaluationError(f"cannot fetch {name_of(at)} from {name_of(left)}")
    if not -len(left) <= index < len(left):
        raise EvaluationError("index out of range")
    return left[index]


BINARY: Final[dict[str, Binary]] = {
    "or": Binary(10, _or),
    "||": Binary(10, _or),
    "and": Binary(15, _and),
    "&&": Binary(15, _and),
    "==": Binary(20, _equality(True)),
    "!=": Binary(20, _equality(False)),
    "<": Binary(20, _order(lambda a, b: a < b, lambda a, b: a < b)),
    ">": Binary(20, _order(lambda a, b: a > b, lambda a, b: a > b)),
    "<=": Binary(20, _order(lambda a, b: a <= b, lambda a, b: a <= b)),
    ">=": Binary(20, _order(lambda a, b: a >= b, lambda a, b: a >= b)),
    "in": Binary(20, _in),
    "matches": Binary(20, _matches),
    "contains": Binary(20, _on_texts(lambda a, b: b in a)),
    "startsWith": Binary(20, _on_texts(str.startswith)),
    "endsWith": Binary(20, _on_texts(str.endswith)),
    "+": Binary(30, _plus),
    "-": Binary(30, _arithmetic(lambda a, b: a - b)),
    "*": Binary(60, _arithmetic(lambda a, b: a * b)),
    "/": Binary(60, _arithmetic(lambda a, b: a / b, result=Kind.FLOAT)),
    "%": Binary(60, _arithmetic(_remainder, taken=frozenset((Kind.INT,)))),
    "**": Binary(100, _arithmetic(_power, result=Kind.FLOAT), right=True),
    "^": Binary(100, _arithmetic(_power, result=Kind.FLOAT), right=True),
    "??": Binary(500, _otherwise),
}
"""By their text."""

NEGATABLE: Final = frozenset(("in", "matches", "contains", "startsWith", "endsWith"))
"""What may follow `not` between two sides."""
