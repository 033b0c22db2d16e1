"""What a check says, and how it says that it cannot know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


class Verdict(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Outcome(NamedTuple):
    """One thing that a check found. Each line of `evidence` is an `object.field: value`, or a line of a file or log."""

    verdict: Verdict
    summary: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""


class Finding(NamedTuple):
    """An outcome with the stable code and the title of its check."""

    code: str
    title: str
    verdict: Verdict
    summary: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""


class Unknown(Exception):
    """A check lacks a fact; the text says which, and why."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Stands for a fact that could not be had."""

    reason: str


Maybe: TypeAlias = T | Gap


def known(fact: T | Gap) -> T:
    """The fact. Raises Unknown if there is a gap in its place."""
    if isinstance(fact, Gap):
        raise Unknown(fact.reason)
    return fact


def counted(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def ok(summary: str, *evidence: str) -> Outcome:
    """Nothing wrong."""
    return Outcome(Verdict.OK, summary, evidence)


def warning(summary: str, *evidence: str, remedy: str) -> Outcome:
    """It works, and it will not always."""
    return Outcome(Verdict.WARNING, summary, evidence, remedy)


def failure(summary: str, *evidence: str, remedy: str) -> Outcome:
    """Names do not resolve, or would not after the next small event."""
    return Outcome(Verdict.FAILURE, summary, evidence, remedy)


def unknown(summary: str, *evidence: str) -> Outcome:
    """Part of a check that cannot be made."""
    return Outcome(Verdict.UNKNOWN, summary, evidence)
