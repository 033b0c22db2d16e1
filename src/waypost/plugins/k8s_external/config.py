"""What the `k8s_external` directive says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from waypost.corefile.args import Cursor, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.toolkit.zonelist import ZoneList, fallthrough_of, wire_zones
from waypost.wire import names
from waypost.wire.errors import BadName

_MAX_TTL = 3600
_DEFAULT_APEX = b"\x03dns"


@dataclass(frozen=True, slots=True)
class Config:
    """Zones in wire form and lower case, the first one is that of PTR targets; `apex` are labels without an end."""

    zones: tuple[bytes, ...]
    apex: bytes
    ttl: int
    headless: bool
    fallthrough: ZoneList


@dataclass(slots=True)
class _Draft:
    apex: bytes = _DEFAULT_APEX
    ttl: int = 5
    headless: bool = False
    fallthrough: ZoneList = field(default_factory=ZoneList)


def parse(directive: Directive, zones: tuple[bytes, ...]) -> Config:
    """Read the directive; `zones` are the block's own. Raises CorefileError."""
    cursor = Cursor(directive)
    draft = _Draft()
    for args in cursor.occurrences():
        zones = wire_zones(args) if args else zones
        while cursor.next_block():
            option = _OPTIONS.get(cursor.value)
            if option is None:
                raise cursor.err(f"unknown property '{cursor.value}'")
            option(cursor, draft)
    return Config(zones, draft.apex, draft.ttl, draft.headless, draft.fallthrough)


def _apex(cursor: Cursor, draft: _Draft) -> None:
    values = cursor.remaining_args()
    if not values:
        raise cursor.arg_err()
    try:
        draft.apex = names.from_text(values[0].lower())[:-1]
    except BadName as exc:
        raise cursor.err(f"apex '{values[0]}' is no domain name: {exc}") from exc
    if not draft.apex:
        raise cursor.err("apex must be a label")


def _ttl(cursor: Cursor, draft: _Draft) -> None:
    values = cursor.remaining_args()
    if not values:
        raise cursor.arg_err()
    try:
        ttl = parse_int(values[0])
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
    if not 0 <= ttl <= _MAX_TTL:
        raise cursor.err(f"ttl must be in range [0, {_MAX_TTL}]: {ttl}")
    draft.ttl = ttl


def _headless(cursor: Cursor, draft: _Draft) -> None:
    draft.headless = True


def _fallthrough(cursor: Cursor, draft: _Draft) -> None:
    draft.fallthrough = fallthrough_of(cursor.remaining_args())


_OPTIONS: dict[str, Callable[[Cursor, _Draft], None]] = {
    "apex": _apex,
    "ttl": _ttl,
    "headless": _headless,
    "fallthrough": _fallthrough,
}
