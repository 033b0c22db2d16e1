"""What can be wrong with an expression, and where."""

from __future__ import annotations


class ExpressionError(ValueError):
    """An expression that cannot be compiled; the text shows the place as expr-lang does."""

    def __init__(self, text: str, source: str, at: int) -> None:
        super().__init__(located(text, source, at))


class EvaluationError(ValueError):
    """An expression that has no value for what it was asked of."""


def located(text: str, source: str, at: int) -> str:
    """`TEXT (LINE:COLUMN)`, the line, and a mark below the character at offset `at`."""
    if not source:
        return text
    tail = source[:at].rpartition("\n")[2]
    number = source.count("\n", 0, at) + 1
    line = source[at - len(tail) :].partition("\n")[0]
    return f"{text} ({number}:{len(tail) + 1})\n | {line}\n | {'.' * len(tail)}^"
