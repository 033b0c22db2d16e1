"""What a Corefile says of rewrite. Errors have CoreDNS's texts, which name no line.

    rewrite [continue|stop] name [MATCH] FROM TO [answer auto|name FROM TO|value FROM TO]...
    rewrite [continue|stop] ttl [MATCH] NAME SECONDS|[SECONDS]-[SECONDS]
    rewrite [continue|stop] rcode [MATCH] NAME FROM TO
    rewrite [continue|stop] cname [MATCH] FROM TO
    rewrite [continue|stop] type|class FROM TO
    rewrite [continue|stop] edns0 local|nsid|subnet set|append|replace|unset ... [revert]

MATCH is exact (the default), prefix, suffix, substring or regex. The words may also stand in a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor, parse_uint
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.corefile.zones import normalize_name
from waypost.plugins.rewrite.asked import Rule
from waypost.plugins.rewrite.handler import Step
from waypost.plugins.rewrite.name_config import compiled, name_rule
from waypost.plugins.rewrite.option_config import option_rule
from waypost.plugins.rewrite.renaming import EXACT, KINDS, REGEX, NameTest, by_kind, by_pattern, fitting, found_by
from waypost.plugins.rewrite.rules import ClassRule, CnameRule, RcodeRule, TtlRule, TypeRule
from waypost.wire import consts

_MODES: Final = {"continue": False, "stop": True}
_HIGHEST_TTL: Final = 2**31 - 1
# Names of rcodes that are not the ones they are printed with.
_RCODE_ALIASES: Final = {"NOTIMPL": 4, "BADSIG": 16}


@dataclass(frozen=True, slots=True)
class Config:
    """The rules in order."""

    steps: tuple[Step, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What CoreDNS takes and yet cannot work."""
        return tuple(rule.flaw for rule, _ in self.steps if isinstance(rule, CnameRule) and rule.flaw)


def parse(directive: Directive) -> Config:
    """Each occurrence is one rule. Raises CorefileError."""
    cursor = Cursor(directive)
    steps = []
    for words in cursor.occurrences():
        if len(words) < 2:
            while cursor.next_block():
                words.append(cursor.value)
        try:
            steps.append(_step(words))
        except ValueError as exc:
            raise CorefileError.unlocated(str(exc)) from exc
    return Config(tuple(steps))


def _step(words: Sequence[str]) -> Step:
    if not words:
        raise ValueError("no rule type specified for rewrite")
    stop = _MODES.get(words[0].lower())
    rest = words if stop is None else words[1:]
    if not rest:
        raise ValueError(f"no rule type specified for rewrite after {quote(words[0])}")
    field = rest[0].lower()
    parser = _FIELDS.get(field)
    if parser is None:
        if field == "answer":
            raise ValueError("response rewrites must begin with a name rule")
        raise ValueError(f"invalid rule type {quote(rest[0])}")
    return Step(parser(rest[1:]), stop is not False)


def _type(words: Sequence[str]) -> Rule:
    old, new = _two("type", words, consts.type_number)
    return TypeRule(old, new)


def _class(words: Sequence[str]) -> Rule:
    old, new = _two("class", words, consts.class_number)
    return ClassRule(old, new)


def _two(field: str, words: Sequence[str], number_of: Callable[[str], int | None]) -> tuple[int, int]:
    if len(words) != 2:
        raise ValueError(f"{field} rules must have exactly two arguments")
    numbers = []
    for word in words:
        number = number_of(word.upper())
        if number is None:
            raise ValueError(f"invalid {field} {quote(word)}")
        numbers.append(number)
    return numbers[0], numbers[1]


def _ttl(words: Sequence[str]) -> Rule:
    if len(words) < 2:
        raise ValueError(f"too few ({len(words)}) arguments for a ttl rule")
    lowest, highest = _ttl_bounds(words[-1] if len(words) <= 3 else "")
    return TtlRule(_test("ttl", words[:-1]), lowest, highest)


def _ttl_bounds(text: str) -> tuple[int, int]:
    """`N`, `N-M`, `N-` or `-M`, in seconds."""
    low, dash, high = text.partition("-")
    try:
        if text in ("", "-"):
            raise ValueError
        lowest = parse_uint(low, 32) if low or not dash else 0
        highest = parse_uint(high, 32) if high else (_HIGHEST_TTL if dash else lowest)
        if lowest > highest:
            raise ValueError
    except ValueError:
        raise ValueError(f"invalid TTL '{text}' for a ttl rule") from None
    return lowest, highest


def _rcode(words: Sequence[str]) -> Rule:
    if len(words) < 3:
        raise ValueError(f"too few ({len(words)}) arguments for a rcode rule")
    old, new = words[-2:] if len(words) <= 4 else ("", "")
    old_rcode = _rcode_number(old)
    if old_rcode is None:
        raise ValueError(f"invalid matching RCODE '{old}' for a rcode rule")
    new_rcode = _rcode_number(new)
    if new_rcode is None:
        raise ValueError(f"invalid replacement RCODE '{new}' for a rcode rule")
    return RcodeRule(_test("rcode", words[:-2]), old_rcode, new_rcode)


def _rcode_number(text: str) -> int | None:
    """An assigned rcode, by name or number."""
    try:
        number = parse_uint(text, 32)
    except ValueError:
        upper = text.upper()
        return _RCODE_ALIASES.get(upper, consts.rcode_number(upper))
    return None if consts.rcode_text(number).startswith("RCODE") else number


def _test(field: str, words: Sequence[str]) -> NameTest:
    """`[MATCH] NAME`."""
    kind, text = (EXACT, words[0]) if len(words) == 1 else (words[0].lower(), words[1])
    if kind == REGEX:
        return found_by(compiled(text, f"invalid regex pattern in a {field} rule"))
    if kind not in KINDS:
        raise ValueError(f"{field} rule supports only exact, prefix, suffix, substring, and regex name matching")
    return fitting(kind, normalize_name(text))


def _cname(words: Sequence[str]) -> Rule:
    if len(words) not in (2, 3):
        raise ValueError("too few or too many arguments for a cname rule")
    kind, old, new = (EXACT, *words) if len(words) == 2 else (words[0].lower(), *words[1:])
    if kind == REGEX:
        try:
            return CnameRule(by_pattern(compiled(old, "invalid regex pattern in a cname rule"), new))
        except ValueError as exc:
            return CnameRule(lambda name: None, f"{exc}: the rule fits nothing")
    if kind not in KINDS:
        raise ValueError(f"unknown cname rewrite type: {kind}")
    if kind in (EXACT, "suffix"):
        old, new = normalize_name(old), normalize_name(new)
    return CnameRule(by_kind(kind, old, new))


_FIELDS: Final[dict[str, Callable[[Sequence[str]], Rule]]] = {
    "name": name_rule,
    "type": _type,
    "class": _class,
    "ttl": _ttl,
    "rcode": _rcode,
    "cname": _cname,
    "edns0": option_rule,
}
