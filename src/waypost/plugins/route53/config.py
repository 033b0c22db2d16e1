"""What a Corefile says of route53.

route53 [ZONE:HOSTED_ZONE_ID...] {
    aws_access_key KEY_ID SECRET
    aws_endpoint URL
    credentials PROFILE [FILE]
    fallthrough [ZONES...]
    refresh DURATION
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.corefile.zones import normalize_name
from waypost.toolkit.zonelist import ZoneList, fallthrough_of
from waypost.wire import names
from waypost.wire.errors import BadName


@dataclass(frozen=True, slots=True)
class Account:
    """Who asks, and where: empty is what AWS's own tools would take. Keys are an id and a secret, or nothing."""

    keys: tuple[str, ...] = ()
    endpoint: str = ""
    profile: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """One `route53` line. `zones` are names in wire form and lower case with hosted zone ids; `refresh` in seconds.

    `idle` tells that an option without effect is there.
    """

    zones: tuple[tuple[bytes, str], ...] = ()
    account: Account = Account()
    fall: ZoneList = field(default_factory=ZoneList)
    refresh: float = 60.0
    idle: bool = False


def parse(directive: Directive) -> tuple[Config, ...]:
    """The `route53` lines of a block. Raises CorefileError."""
    cursor = Cursor(directive)
    return tuple(_occurrences(cursor))


def _occurrences(cursor: Cursor) -> Iterator[Config]:
    for args in cursor.occurrences():
        config = Config(tuple(_zone(cursor, text) for text in args))
        for text, zone in zip(args, config.zones, strict=True):
            if config.zones.count(zone) > 1:
                raise cursor.err(f"conflict zone {quote(text)}")
        while cursor.next_block():
            option = _OPTIONS.get(cursor.value)
            if option is None:
                raise cursor.err(f"unknown property {quote(cursor.value)}")
            config = option(cursor, config)
        yield config


def _zone(cursor: Cursor, text: str) -> tuple[bytes, str]:
    name, _, hosted = text.partition(":")
    if not name or not hosted:
        raise cursor.err(f"invalid zone {quote(text)}")
    try:
        return names.from_text(normalize_name(name)), hosted
    except BadName as exc:
        raise cursor.err(f"invalid zone {quote(text)}: {exc}") from exc


def _access_key(cursor: Cursor, config: Config) -> Config:
    values = cursor.remaining_args()
    if len(values) < 2:
        raise cursor.err(f"invalid access key: '[{' '.join(values)}]'")
    return replace(config, account=replace(config.account, keys=tuple(values[:2])))


def _endpoint(cursor: Cursor, config: Config) -> Config:
    if not cursor.next_arg():
        raise cursor.arg_err()
    return replace(config, account=replace(config.account, endpoint=cursor.value))


def _credentials(cursor: Cursor, config: Config) -> Config:
    if not cursor.next_arg():
        raise cursor.arg_err()
    profile = cursor.value
    file = cursor.value if cursor.next_arg() else ""
    return replace(config, account=replace(config.account, profile=profile, file=file))


def _fallthrough(cursor: Cursor, config: Config) -> Config:
    return replace(config, fall=fallthrough_of(cursor.remaining_args()))


def _refresh(cursor: Cursor, config: Config) -> Config:
    if not cursor.next_arg():
        raise cursor.arg_err()
    text = cursor.value
    if text.isascii() and text.isdigit():
        text += "s"
    try:
        seconds = parse_duration(text)
    except ValueError as exc:
        raise cursor.err(f"Unable to parse duration: {exc}") from exc
    if seconds <= 0:
        raise cursor.err(f"refresh interval must be greater than 0: {quote(text)}")
    return replace(config, refresh=seconds)


def _idle(cursor: Cursor, config: Config) -> Config:
    cursor.remaining_args()
    return replace(config, idle=True)


_OPTIONS: Final[dict[str, Callable[[Cursor, Config], Config]]] = {
    "aws_access_key": _access_key,
    "aws_endpoint": _endpoint,
    "credentials": _credentials,
    "fallthrough": _fallthrough,
    "refresh": _refresh,
    "upstream": _idle,
}
