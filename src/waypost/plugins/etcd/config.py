"""What a Corefile says of etcd.

etcd [ZONES...] {
    path PATH
    endpoint URL...
    credentials USER PASSWORD
    tls [CERT KEY] [CA]
    min-lease-ttl DURATION
    max-lease-ttl DURATION
    fallthrough [ZONES...]
}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.model import Directive
from waypost.toolkit.zonelist import ZoneList, fallthrough_of

_MAX_SECONDS: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Config:
    """No `zones` stands for those of the block, no `tls` for plain HTTP by default; lease TTLs in seconds.

    `credentials` are empty or a name and a password. `idle` are options that SkyDNS had and that have no effect, and
    `repeated` tells that the block has another etcd, which has none either.
    """

    zones: tuple[str, ...] = ()
    path: str = "/skydns"
    endpoints: tuple[str, ...] = ("http://localhost:2379",)
    credentials: tuple[str, ...] = ()
    tls: tuple[str, ...] | None = None
    min_lease_ttl: int = 0
    max_lease_ttl: int = 0
    fall: ZoneList = field(default_factory=ZoneList)
    idle: tuple[str, ...] = ()
    repeated: bool = False


def parse(directive: Directive) -> Config:
    """The first `etcd` of a block. Raises CorefileError."""
    cursor = Cursor(directive)
    cursor.next()
    config = Config(tuple(cursor.remaining_args()))
    while cursor.next_block():
        option = _OPTIONS.get(cursor.value)
        if option is None:
            raise cursor.err(f"unknown property '{cursor.value}'")
        config = option(cursor, config)
    return replace(config, repeated=cursor.next())


def _fallthrough(cursor: Cursor, config: Config) -> Config:
    return replace(config, fall=fallthrough_of(cursor.remaining_args()))


def _path(cursor: Cursor, config: Config) -> Config:
    return replace(config, path=_argument(cursor))


def _endpoint(cursor: Cursor, config: Config) -> Config:
    values = cursor.remaining_args()
    if not values:
        raise cursor.arg_err()
    return replace(config, endpoints=tuple(values))


def _credentials(cursor: Cursor, config: Config) -> Config:
    values = cursor.remaining_args()
    if not values:
        raise cursor.arg_err()
    if len(values) != 2:
        raise cursor.err("credentials requires 2 arguments, username and password")
    return replace(config, credentials=tuple(values) if all(values) else ())


def _tls(cursor: Cursor, config: Config) -> Config:
    values = cursor.remaining_args()
    if len(values) > 3:
        raise cursor.err(f"maximum of three arguments allowed for TLS config, found {len(values)}")
    return replace(config, tls=tuple(values))


def _min_lease_ttl(cursor: Cursor, config: Config) -> Config:
    return replace(config, min_lease_ttl=_seconds(cursor, "min-lease-ttl"))


def _max_lease_ttl(cursor: Cursor, config: Config) -> Config:
    return replace(config, max_lease_ttl=_seconds(cursor, "max-lease-ttl"))


def _idle(cursor: Cursor, config: Config) -> Config:
    config = replace(config, idle=(*config.idle, cursor.value))
    if cursor.value == "upstream":
        cursor.remaining_args()
    return config


_OPTIONS: Final[dict[str, Callable[[Cursor, Config], Config]]] = {
    "fallthrough": _fallthrough,
    "path": _path,
    "endpoint": _endpoint,
    "credentials": _credentials,
    "tls": _tls,
    "min-lease-ttl": _min_lease_ttl,
    "max-lease-ttl": _max_lease_ttl,
    "stubzones": _idle,
    "debug": _idle,
    "upstream": _idle,
}


def _argument(cursor: Cursor) -> str:
    if not cursor.next_arg():
        raise cursor.arg_err()
    return cursor.value


def _seconds(cursor: Cursor, option: str) -> int:
    text = _argument(cursor).strip()
    try:
        seconds = parse_duration(f"{text}s" if text.isascii() and text.isdigit() else text) if text else 0
    except ValueError:
        wanted = "invalid TTL format, use format like '30', '30s', '5m', '1h', or '2h30m'"
        raise cursor.err(f"invalid {option} value: {wanted}") from None
    if seconds < 0:
        raise cursor.err(f"invalid {option} value: TTL must be non-negative")
    if seconds > _MAX_SECONDS:
        raise cursor.err(f"invalid {option} value: TTL too large, maximum is {_MAX_SECONDS} seconds")
    return int(seconds)
