"""The one table of all advice. A code is never given to something else; a rule that goes takes its code along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.advice import (
    answering,
    caching,
    cluster,
    comments,
    forwarding,
    listening,
    patterns,
    running,
    secrets,
    serving,
    unused,
)
from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Subject
from waypost.corefile.model import Token


def _warned(subject: Subject) -> Iterator[Remark]:
    return (Remark(token, text) for token, text in subject.facts.warnings)


def _missing(subject: Subject) -> Iterator[Remark]:
    return (Remark(token, text) for token, text in subject.facts.missing)


def _stray(subject: Subject) -> Iterator[Remark]:
    known = {rule.code for rule in RULES}
    for file, text in subject.texts.items():
        for _, line, code in comments.ignores(text):
            if code not in known:
                yield Remark(Token("", file, line, 0, 1), f"there is no advice {code} to ignore")


_OWN: Final = (
    Rule(
        "W901", WARNING, "what a plugin warns of when it is set up",
        "The server would log it at each start.",
        "As the text says.",
        _warned,
    ),
    Rule(
        "W902", NOTICE, "a file that is not on this machine",
        "What stands in it was not checked.",
        "Check where the file is, or put it there.",
        _missing,
    ),
    Rule(
        "W903", NOTICE, "`# waypost: ignore` with a code that does not exist",
        "It silences nothing.",
        "Correct the code, or delete the comment.",
        _stray,
    ),
)  # fmt: skip

_TOPICS: Final = (
    forwarding, caching, cluster, serving, comments, unused, answering, running, patterns, listening, secrets,
)  # fmt: skip

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted((*_OWN, *(rule for topic in _TOPICS for rule in topic.RULES)), key=lambda rule: rule.code)
)
"""Every rule, in the order of codes."""


def page_table() -> str:
    """Every code for people: a table in Markdown."""
    rows = ["| code | | what is found | why it matters | what to do |", "|---|---|---|---|---|"]
    rows += [
        f"| {rule.code} | {rule.severity} | {rule.title} | {_cell(rule.why)} | {_cell(rule.remedy)} |" for rule in RULES
    ]
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
