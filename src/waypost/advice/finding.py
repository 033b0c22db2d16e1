"""What is said about a place in a Corefile, by a rule or by an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from waypost.advice.subject import Subject
from waypost.corefile.model import Token


class Severity(StrEnum):
    """`ERROR`: it does not start. `WARNING`: some answers are wrong, late or at risk. `NOTICE`: worth a thought."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


ERROR, WARNING, NOTICE = Severity


class Remark(NamedTuple):
    """Where a rule applies, and what was found there; `found` is a sentence without a full stop."""

    token: Token
    found: str


Judge = Callable[[Subject], Iterator[Remark]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of advice. `title` is its line on the page, `why` and `remedy` are sentences."""

    code: str
    severity: Severity
    title: str
    why: str
    remedy: str
    judge: Judge


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check. An error has no code; line and column count from 1, 0 is unknown."""

    file: str
    line: int
    column: int
    severity: Severity
    found: str
    code: str = ""
    why: str = ""
    remedy: str = ""
