"""Advice on the patterns of `rewrite` and `template`, and on answers that rewriting forgets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Subject, Use
from waypost.corefile.model import Token

_KINDS: Final = frozenset(("exact", "prefix", "suffix", "substring", "regex"))
_MODES: Final = frozenset(("continue", "stop"))
_ANY: Final = re.compile(r"\(?\.[*+]\)?")
# A letter or digit right before the end: names end with a dot.
_NO_FINAL_DOT: Final = re.compile(r"[A-Za-z0-9]\)?\$\Z")
_UPPER: Final = re.compile(r"(?<![\\\[(?:<{pPA-Za-z])[A-Z]")
# A dot between two letters or digits is meant as a dot.
_BARE_DOT: Final = re.compile(r"(?<=[A-Za-z0-9])(?<!\\[A-Za-z])\.(?=[A-Za-z])")
_BRACKETED: Final = re.compile(r"\[[^\]]*\]")


def name_rule(use: Use) -> tuple[Token, ...]:
    """The words behind `name` of a rewrite rule for names, MATCH first if it is there; () for other rules.

    A rule may stand in a block, each word a line.
    """
    words = use.args
    if len(words) < 2:
        words += tuple(token for option in use.options for token in (option.name, *option.values))
    if words and words[0].text.lower() in _MODES:
        words = words[1:]
    return words[1:] if words and words[0].text.lower() == "name" else ()


def _kind(words: tuple[Token, ...]) -> str:
    first = words[0].text.lower() if words else ""
    return first if first in _KINDS and len(words) > 2 else "exact"


def _patterns(subject: Subject) -> Iterator[Token]:
    """Every pattern that is applied to the name of a question."""
    for _, use in subject.uses("rewrite"):
        words = name_rule(use)
        if _kind(words) == "regex":
            yield words[1]
    for _, use in subject.uses("template"):
        yield from (value for option in use.all("match") for value in option.values)


def unanchored(subject: Subject) -> Iterator[Remark]:
    """A pattern that fits in the middle of other names."""
    for token in _patterns(subject):
        text = re.sub(r"\A\(\?[a-z]+\)", "", token.text)
        ends = [
            end
            for end, there in (
                ("^", text.startswith(("^", r"\A")) or _ANY.match(text)),
                ("$", text.endswith(("$", r"\z")) or _ANY.search(text[-4:])),
            )
            if not there
        ]
        if ends:
            yield Remark(token, f"'{token.text}' has no {' and no '.join(ends)}")


def never_fits(subject: Subject) -> Iterator[Remark]:
    """Names are compared in lower case, with their final dot."""
    for token in _patterns(subject):
        plain = _BRACKETED.sub("", token.text)
        if _NO_FINAL_DOT.search(token.text):
            yield Remark(token, f"'{token.text}' ends without the dot that every name ends with")
        elif not token.text.startswith("(?") and (found := _UPPER.search(plain)):
            yield Remark(token, f"'{token.text}' has the capital {found[0]}, and names are compared in lower case")


def bare_dot(subject: Subject) -> Iterator[Remark]:
    """A dot in a pattern is any character."""
    for token in _patterns(subject):
        if _BARE_DOT.search(_BRACKETED.sub("", token.text)):
            yield Remark(token, f"a dot in '{token.text}' stands for any character")


def answer_not_rewritten(subject: Subject) -> Iterator[Remark]:
    """The answer is for a name that was not asked for."""
    for _, use in subject.uses("rewrite"):
        words = name_rule(use)
        kind = _kind(words)
        if words and kind != "exact" and not any(word.text == "answer" for word in words[3:]):
            yield Remark(use.name, f"a {kind} rule for names without `answer`")


RULES: Final = (
    Rule(
        "W601", NOTICE, "a pattern without anchors",
        "It also fits in the middle of longer names.",
        "Begin it with `^` and end it with `$`; names end with a dot: `^www\\.example\\.org\\.$`.",
        unanchored,
    ),
    Rule(
        "W602", WARNING, "a pattern that fits no name",
        "Names are compared in lower case and with their final dot.",
        "Write it in lower case and end it with `\\.$`.",
        never_fits,
    ),
    Rule(
        "W603", NOTICE, "a dot in a pattern that is not escaped",
        "It stands for any character.",
        "Write `\\.`.",
        bare_dot,
    ),
    Rule(
        "W604", WARNING, "a rewritten name without `answer`",
        "The records then have a name that the client did not ask for, and strict clients throw them away.",
        "Add `answer auto`, or `answer name FROM TO` for the way back.",
        answer_not_rewritten,
    ),
)  # fmt: skip
