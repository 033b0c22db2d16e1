"""The words of `health_check` behind its duration: how an upstream is probed, and which rcodes count as no reply."""

from __future__ import annotations

from typing import Any, Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.zones import normalize_name
from waypost.wire import consts, names
from waypost.wire.errors import BadName

# None of them is the mnemonic of an rcode, so a list of rcodes ends where one of them stands.
_WORDS: Final = ("no_rec", "domain", "unhealthy")
_ABOUT_THE_NAME: Final = (consts.NOERROR, consts.NXDOMAIN)


def read_probe(cursor: Cursor, words: list[str]) -> dict[str, Any]:
    """`[no_rec] [domain NAME] [unhealthy RCODE...]` in any order, as fields of `Config`. Raises CorefileError."""
    fields: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "no_rec":
            fields["health_recursion"] = False
        elif word == "domain":
            fields["health_domain"] = _name(cursor, left.pop(0) if left else "")
        elif word == "unhealthy":
            fields["health_unhealthy"] = fields.get("health_unhealthy", frozenset()) | _rcodes(cursor, left)
        else:
            raise CorefileError.unlocated(f"health_check: unknown option {word}")
    return fields


def _name(cursor: Cursor, text: str) -> bytes:
    if not text:
        raise cursor.arg_err()
    try:
        return names.from_text(normalize_name(text))
    except BadName as exc:
        raise CorefileError.unlocated(f"health_check: invalid domain name {text}") from exc


def _rcodes(cursor: Cursor, left: list[str]) -> frozenset[int]:
    """The rcodes at the beginning of what is left, at least one; they are taken from it."""
    rcodes = set()
    while left and left[0] not in _WORDS:
        text = left.pop(0)
        rcode = consts.rcode_number(text.upper())
        if rcode is None:
            raise cursor.err(f"health_check: {text} behind 'unhealthy' is no rcode, and none of {', '.join(_WORDS)}")
        if rcode in _ABOUT_THE_NAME:
            raise cursor.err(f"health_check: {text} tells of the name asked for, no upstream is unhealthy for it")
        rcodes.add(rcode)
    if not rcodes:
        raise cursor.err("health_check: 'unhealthy' names no rcode; expected for example: unhealthy SERVFAIL")
    return frozenset(rcodes)
