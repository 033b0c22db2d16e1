"""Directives whose block says how much a listener serves at once: one number an option, each once a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from waypost.corefile.args import Cursor, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.transports import Limits


def parse_limits(directive: Directive, options: Mapping[str, str], defaults: Limits, *, zero: bool) -> Limits:
    """`options` gives each option's field of `Limits`; `zero` says whether 0, no limit, may be asked for.

    Raises CorefileError, with CoreDNS's text.
    """
    cursor = Cursor(directive)
    limits = defaults
    known: set[str] = set()
    for args in cursor.occurrences():
        if args:
            raise cursor.arg_err()
        for name, values in cursor.options():
            if name not in options:
                raise cursor.err(f"unknown property '{name}'")
            if len(values) != 1:
                raise cursor.arg_err()
            number = _number(name, values[0], zero)
            if name in known:
                raise CorefileError.unlocated(f"{name} already defined for this server block")
            known.add(name)
            limits = replace(limits, **{options[name]: number})
    return limits


def _number(name: str, text: str, zero: bool) -> int:
    try:
        number = parse_int(text)
    except ValueError as exc:
        raise CorefileError.unlocated(f"invalid {name} value '{text}': {exc}") from exc
    if number < (0 if zero else 1):
        kind = "non-negative" if zero else "positive"
        raise CorefileError.unlocated(f"{name} must be a {kind} integer: {number}")
    return number
