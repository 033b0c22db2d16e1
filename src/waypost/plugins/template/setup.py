"""template: answers made of the question by Go templates.

template CLASS TYPE [ZONES...] {
    match REGEXP...
    answer TEMPLATE...
    additional TEMPLATE...
    authority TEMPLATE...
    rcode RCODE
    ederror CODE [TEXT]
    fallthrough [ZONES...]
    upstream
}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from waypost.corefile.args import Cursor, parse_uint
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.template.functions import FUNCTIONS
from waypost.plugins.template.handler import TemplateHandler
from waypost.plugins.template.rule import Pattern, Rule
from waypost.toolkit.gotemplate.errors import TemplateError
from waypost.toolkit.gotemplate.template import Template, compile_template
from waypost.toolkit.regexp import compile_regexp
from waypost.toolkit.zonelist import fallthrough_of
from waypost.wire import consts
from waypost.wire.edns import ede

_MAX_PATTERN: Final = 10_000


def parse(directive: Directive) -> tuple[Rule, ...]:
    """The rules, in the order in which they are tried; zones are arguments still. Raises CorefileError."""
    cursor = Cursor(directive)
    rules = []
    while cursor.next():
        rule = _head(cursor)
        for name, values in cursor.options():
            option = _OPTIONS.get(name)
            if option is None:
                raise cursor.arg_err()
            rule = option(cursor, rule, name, values)
        rules.append(rule if rule.patterns else replace(rule, patterns=(Pattern(".*", compile_regexp(".*")),)))
    return tuple(rules)


def _head(cursor: Cursor) -> Rule:
    if not cursor.next_arg():
        raise cursor.arg_err()
    qclass = consts.class_number(cursor.value)
    if qclass is None:
        raise cursor.err(f"invalid query class {cursor.value}")
    if not cursor.next_arg():
        raise cursor.arg_err()
    qtype = consts.type_number(cursor.value)
    if qtype is None:
        raise cursor.err(f"invalid RR class {cursor.value}")
    return Rule(qclass, qtype, tuple(cursor.remaining_args()))


def _match(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    if not values:
        raise cursor.arg_err()
    return replace(rule, patterns=(*rule.patterns, *(_pattern(cursor, text) for text in values)))


def _pattern(cursor: Cursor, text: str) -> Pattern:
    if len(text) > _MAX_PATTERN:
        raise cursor.err(f"regex pattern too long: {len(text)} > {_MAX_PATTERN}")
    try:
        return Pattern(text, compile_regexp(text))
    except ValueError as exc:
        raise cursor.err(f"could not parse regex: {text}, {exc}") from exc


def _section(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    if not values:
        raise cursor.arg_err()
    compiled = tuple(_template(cursor, name, text) for text in values)
    if name == "answer":
        return replace(rule, answer=(*rule.answer, *compiled))
    if name == "additional":
        return replace(rule, additional=(*rule.additional, *compiled))
    return replace(rule, authority=(*rule.authority, *compiled))


def _template(cursor: Cursor, name: str, text: str) -> Template:
    try:
        return compile_template(name, text, FUNCTIONS)
    except TemplateError as exc:
        raise cursor.err(f"could not compile template: {text}, {exc}") from exc


def _rcode(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    if not values:
        raise cursor.arg_err()
    rcode = consts.rcode_number(values[0])
    if rcode is None:
        raise cursor.err(f"unknown rcode {values[0]}")
    if len(values) > 1:
        raise cursor.arg_err()
    return replace(rule, rcode=rcode)


def _ederror(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    if len(values) not in (1, 2):
        raise cursor.arg_err()
    try:
        code = parse_uint(values[0], 16)
    except ValueError as exc:
        raise cursor.err(f"error parsing extended DNS error code {cursor.value}, {exc}") from exc
    return replace(rule, extended_error=ede(code, *values[1:]))


def _fallthrough(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    return replace(rule, fall=fallthrough_of(values))


def _upstream(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    """What old Corefiles say, and what is always done."""
    return rule


def _not_yet(cursor: Cursor, rule: Rule, name: str, values: list[str]) -> Rule:
    raise cursor.err(f"'{name}' is not supported yet")


_OPTIONS: Final[dict[str, Callable[[Cursor, Rule, str, list[str]], Rule]]] = {
    "match": _match,
    "answer": _section,
    "additional": _section,
    "authority": _section,
    "rcode": _rcode,
    "ederror": _ederror,
    "fallthrough": _fallthrough,
    "upstream": _upstream,
    "var": _not_yet,
    "expr": _not_yet,
}


def setup(directive: Directive, site: Site) -> None:
    """Add one handler for all rules of the block."""
    site.add(TemplateHandler(parse(directive), site))
