"""Label selectors (`app=web,tier in (front, back),!canary`) to predicates over labels.

Grammar and messages are those of the Kubernetes API (labels and selectors, apimachinery `labels.Parse`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

Labels: TypeAlias = Mapping[str, str] | None
Predicate: TypeAlias = Callable[[Labels], bool]

END = ""
SYMBOLS = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">", END})
WORD_OPERATORS = frozenset({"in", "notin"})  # no keys, but they may be values
BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt"
TOKEN = re.compile(r"\s*(?P<token>==|!=|[=!(),<>]|[^\s=!(),<>]+|\Z)")

PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
INTEGER = re.compile(r"[0-9]{1,19}")
MAX_NAME, MAX_PREFIX = 63, 253


def parse_selector(text: str) -> Predicate:
    """The predicate that `text` describes; an empty selector holds for everything. Raises ValueError."""
    requirements = Parser(text).requirements()
    return lambda labels: all(holds(labels or {}) for holds in requirements)


Requirement: TypeAlias = Callable[[Mapping[str, str]], bool]


class Parser:
    """Reads the requirements of one selector from left to right."""

    __slots__ = ("_place", "_tokens")

    def __init__(self, text: str) -> None:
        self._tokens = [match["token"] for match in TOKEN.finditer(text)]
        self._place = 0

    def requirements(self) -> list[Requirement]:
        """All of them, to hold together."""
        found: list[Requirement] = []
        if self._peek() == END:
            return found
        if not self._begins_requirement():
            raise ValueError(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                found.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            if (separator := self._next()) == END:
                return found
            if separator != ",":
                raise ValueError(f"found '{separator}', expected: ',' or 'end of string'")
            if not self._begins_requirement():
                raise ValueError(f"found '{self._peek()}', expected: identifier after ','")

    def _begins_requirement(self) -> bool:
        return self._peek() == "!" or self._peek() not in SYMBOLS | WORD_OPERATORS

    def _requirement(self) -> Requirement:
        """`key`, `!key` or `key operator values`."""
        negated = self._peek() == "!"
        if negated:
            self._next()
        if self._peek() in WORD_OPERATORS:
            raise ValueError(f"found '{self._peek()}', expected: identifier")
        key = checked_key(self._identifier())
        if negated:
            return lambda labels: key not in labels
        if self._peek() in (END, ","):
            return lambda labels: key in labels
        operator = self._next()
        if operator in WORD_OPERATORS:
            values = self._value_list(key)
            return one_of(key, values) if operator == "in" else none_of(key, values)
        if operator in ("=", "=="):
            return one_of(key, {self._exact_value(key)})
        if operator == "!=":
            return none_of(key, {self._exact_value(key)})
        if operator in (">", "<"):
            return compared(key, operator, self._exact_value(key))
        raise ValueError(f"found '{operator}', expected: {BINARY_OPERATORS}")

    def _identifier(self) -> str:
        if (token := self._next()) in SYMBOLS:
            raise ValueError(f"found '{token}', expected: identifier")
        return token

    def _exact_value(self, key: str) -> str:
        """The value after an operator; nothing there means the empty value."""
        return "" if self._peek() in (END, ",") else checked_value(key, self._identifier())

    def _value_list(self, key: str) -> set[str]:
        """`(a, b)`; a comma with nothing on one side stands for the empty value."""
        if (token := self._next()) != "(":
            raise ValueError(f"found '{token}' expected: '('")
        if self._peek() not in (",", ")") and self._peek() in SYMBOLS:
            raise ValueError(f"found '{self._next()}', expected: ',', ')' or identifier")
        if self._peek() == ")":
            raise ValueError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
        values: set[str] = set()
        while True:
            values.add("" if self._peek() in (",", ")") else checked_value(key, self._identifier()))
            if (token := self._next()) == ")":
                return values
            if token != ",":
                raise ValueError(f"found '{token}', expected: ',' or ')'")

    def _peek(self) -> str:
        return self._tokens[self._place]

    def _next(self) -> str:
        """The token here; the end stays the end."""
        token = self._tokens[self._place]
        self._place += token != END
        return token


def one_of(key: str, values: set[str]) -> Requirement:
    """The label is there and has one of the values."""
    return lambda labels: labels.get(key) in values


def none_of(key: str, values: set[str]) -> Requirement:
    """The label is not there or has none of the values."""
    return lambda labels: labels.get(key) not in values


def compared(key: str, operator: str, text: str) -> Requirement:
    """The label is a whole number above or below `text`, which is one too."""
    if not INTEGER.fullmatch(text):
        raise ValueError(
            f"values[0][{key}]: Invalid value: \"{text}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )
    bound = int(text)

    def holds(labels: Mapping[str, str]) -> bool:
        value = labels.get(key, "")
        if not INTEGER.fullmatch(value):
            return False
        return int(value) > bound if operator == ">" else int(value) < bound

    return holds


def checked_key(key: str) -> str:
    """A qualified name: a name of at most 63 characters, perhaps after a DNS name and a slash. Raises ValueError."""
    prefix, slash, name = key.rpartition("/")
    if slash and (not PREFIX.fullmatch(prefix) or len(prefix) > MAX_PREFIX):
        raise ValueError(f'key: Invalid value: "{key}": prefix part must be a lower-case DNS name')
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ValueError(f'key: Invalid value: "{key}": {wording("name part")}')
    return key


def checked_value(key: str, value: str) -> str:
    """A label value: empty, or written like the name of a key. Raises ValueError."""
    if value and (not NAME.fullmatch(value) or len(value) > MAX_NAME):
        raise ValueError(f'values[0][{key}]: Invalid value: "{value}": {wording("a valid label")}')
    return value


def wording(subject: str) -> str:
    """What a name or value may consist of."""
    return (
        f"{subject} must be at most {MAX_NAME} letters, digits, '-', '_' or '.', "
        "and must start and end with a letter or digit"
    )
