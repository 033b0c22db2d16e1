"""What a Corefile says of names: `name [MATCH] FROM TO [answer ...]...`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from waypost.corefile.quoting import quote
from waypost.corefile.zones import normalize_name
from waypost.plugins.rewrite.asked import Revert
from waypost.plugins.rewrite.renaming import EXACT, KINDS, REGEX, NameChange, by_kind, by_pattern
from waypost.plugins.rewrite.rules import NameRule, owners, reverting, values
from waypost.toolkit.regexp import Regexp, compile_regexp

_MAX_PATTERN: Final = 10_000
_ANSWERS: Final[dict[str, Callable[[NameChange], Revert]]] = {"name": owners, "value": values}


def name_rule(words: Sequence[str]) -> NameRule:
    """The rule of the words behind `name`. Raises ValueError."""
    if len(words) < 2:
        raise ValueError("too few arguments for a name rule")
    kind, old, new = (EXACT, *words) if len(words) == 2 else (words[0].lower(), *words[1:3])
    if kind != REGEX and kind not in KINDS:
        raise ValueError(
            f"name rule supports only exact, prefix, suffix, substring, and regex name matching, received: {kind}"
        )
    auto, answers = _answers(kind, words[3:]) if len(words) > 3 else (False, ())
    if kind == REGEX:
        return NameRule(by_pattern(compiled(old, "invalid regex matching pattern"), new), auto, answers)
    old, new = normalize_name(old), normalize_name(new)
    change = by_kind(kind, old, new)
    if kind == "suffix":  # exchanged the other way round it fits more names than the one asked for
        return NameRule(change, False, (*reverting(by_kind(kind, new, old)), *answers) if auto else answers)
    return NameRule(change, auto or kind == EXACT, answers)


def compiled(pattern: str, complaint: str) -> Regexp:
    """A Go regular expression. Raises ValueError: the complaint and the pattern."""
    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"regex pattern too long: {len(pattern)} > {_MAX_PATTERN}")
    try:
        return compile_regexp(pattern)
    except ValueError:
        raise ValueError(f"{complaint}: {pattern}") from None


def _answers(kind: str, words: Sequence[str]) -> tuple[bool, tuple[Revert, ...]]:
    """Whether `auto` is among the words behind TO, and the changes of the others."""
    if len(words) < 2:
        raise ValueError(f"invalid arguments for {kind} rule")
    auto = named = False
    answers = []
    rest = iter(words)
    if next(rest) != "answer":
        raise ValueError(f"exceeded the number of arguments for a non-answer rule argument for {kind} rule")
    for word in rest:
        field = next(rest, "") if word == "answer" else word
        if not field:
            raise ValueError(f"type missing for answer rule for {kind} rule")
        if field == "auto":
            auto = True
        elif field in _ANSWERS:
            answers.append(_ANSWERS[field](_answer_change(kind, field, rest)))
            named = named or field == "name"
        else:
            raise ValueError(f"invalid type {quote(field)} for answer rule for {kind} rule")
    if auto and named:
        raise ValueError("auto name answer rule cannot be combined with explicit name anwer rules")
    return auto, tuple(answers)


def _answer_change(kind: str, field: str, rest: Iterator[str]) -> NameChange:
    where = f"{field} answer rule for {kind} rule"
    pattern, template = next(rest, None), next(rest, None)
    if pattern is None or template is None:
        raise ValueError(f"{where}: 2 arguments required")
    return by_pattern(compiled(pattern, f"{where}: invalid regex matching pattern"), template)
