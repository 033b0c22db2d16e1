"""What a Corefile says of nomad.

nomad [ZONE] {
    address URL...
    filter FILTER
    token TOKEN
    ttl SECONDS
}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from waypost.corefile.args import Cursor, parse_int
from waypost.corefile.model import Directive

_MAX_TTL: Final = 3600


@dataclass(frozen=True, slots=True)
class Config:
    """No `addresses` and no `token` stand for those of the environment; `unused` are words that have no effect."""

    zone: str = "service.nomad"
    addresses: tuple[str, ...] = ()
    filter: str = ""
    token: str = ""
    ttl: int = 30
    unused: tuple[str, ...] = ()


def parse(directive: Directive) -> Config:
    """The first `nomad` of a block. Raises CorefileError."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    config = Config(zone=args[0], unused=tuple(args[1:])) if args else Config()
    for name, values in cursor.options():
        option = _OPTIONS.get(name.lower())
        if option is None:
            raise cursor.err(f"unknown property '{name.lower()}'")
        config = option(cursor, config, values)
    if cursor.next():
        config = replace(config, unused=(*config.unused, "nomad"))
    return config


def _addresses(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if not values:
        raise cursor.err("at least one address is required")
    return replace(config, addresses=(*config.addresses, *values))


def _filter(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.err("exactly one filter is required")
    return replace(config, filter=values[0])


def _token(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.err("exactly one token is required")
    return replace(config, token=values[0])


def _ttl(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.err("exactly one ttl value is required")
    try:
        ttl = parse_int(values[0])
    except ValueError as exc:
        raise cursor.err(f"error parsing ttl: {exc}") from exc
    if not 0 <= ttl <= _MAX_TTL:
        raise cursor.err(f"ttl must be in range [0, {_MAX_TTL}]: {ttl}")
    return replace(config, ttl=ttl)


_OPTIONS: Final[dict[str, Callable[[Cursor, Config, list[str]], Config]]] = {
    "address": _addresses,
    "filter": _filter,
    "token": _token,
    "ttl": _ttl,
}
