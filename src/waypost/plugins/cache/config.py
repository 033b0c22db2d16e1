"""What a `cache` directive says, and how it is read.

cache [TTL] [ZONES...] {
    success CAPACITY [TTL] [MINTTL]
    denial CAPACITY [TTL] [MINTTL]
    prefetch AMOUNT [[DURATION] [PERCENTAGE%]]
    serve_stale [DURATION] [immediate [RESP_TTL [RECHECK]] | verify [TIMEOUT [RESP_TTL [RECHECK]]]]
    serve_stale_policy prefer_positive
    servfail DURATION
    disable success|denial [ZONES...]
    keepttl
    soa_minimum
}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from waypost.corefile.args import Cursor, parse_duration, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.zones import zones_of_argument
from waypost.toolkit.zonelist import ZoneList, zones_of
from waypost.wire.names import ROOT

# CoreDNS cuts a capacity into this many parts, none smaller than _SMALLEST_SHARD, and drops the remainder.
_SHARDS = 256
_SMALLEST_SHARD = 4
# RFC 2181 section 8: a TTL has 31 bits.
_MAX_TTL = 0x7FFFFFFF
_MAX_SERVFAIL = 300.0
_MAX_RECHECK = 300.0
_UNLOCATED = CorefileError.unlocated


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one kind of answer: how many entries, and seconds between which a TTL is brought."""

    ttl: int
    capacity: int = 9984
    min_ttl: int = 5


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Refresh an entry hit `amount` times, with pauses below `pause` seconds, in the last `percentage` of its TTL."""

    amount: int
    pause: float = 60.0
    percentage: int = 10


@dataclass(frozen=True, slots=True)
class Stale:
    """Serve expired entries for `window` seconds. With `verify` the source is asked first.

    `timeout` bounds that wait in seconds (0: no bound), `ttl` is shown in stale replies, and after a refresh that
    failed the source is left in peace for `recheck` seconds.
    """

    window: float = 3600.0
    verify: bool = False
    timeout: float = 0.0
    ttl: int = 0
    recheck: float = 0.0


@dataclass(frozen=True, slots=True)
class Config:
    """The whole directive. `zones` in text, absolute and in lower case; None stands for the server block's."""

    zones: tuple[str, ...] | None = None
    success: Limits = field(default_factory=lambda: Limits(3600))
    denial: Limits = field(default_factory=lambda: Limits(1800))
    servfail: float = 5.0
    prefetch: Prefetch | None = None
    stale: Stale | None = None
    prefer_positive: bool = False
    keep_ttl: bool = False
    soa_minimum: bool = False
    """The SOA's MINIMUM bounds the TTL of a denial."""
    no_success: ZoneList = field(default_factory=ZoneList)
    """Zones whose positive answers are not stored."""
    no_denial: ZoneList = field(default_factory=ZoneList)


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for n, args in enumerate(cursor.occurrences()):
        if n:
            raise _UNLOCATED("this plugin can only be used once per Server Block")
        config = _arguments(args)
        for name, values in cursor.options():
            read = _OPTIONS.get(name)
            if read is None:
                raise cursor.arg_err()
            config = read(cursor, config, values)
    return config


def _arguments(args: list[str]) -> Config:
    """`[TTL] [ZONES...]`: a first argument that is a number is a TTL."""
    config = Config()
    if args:
        try:
            ttl = parse_int(args[0])
        except ValueError:
            pass
        else:
            ttl = _positive_ttl(ttl)
            config = replace(config, success=Limits(ttl), denial=Limits(ttl))
            args = args[1:]
    if not args:
        return config
    return replace(config, zones=tuple(zone for arg in args for zone in zones_of_argument(arg)))


def _success(cursor: Cursor, config: Config, values: list[str]) -> Config:
    return replace(config, success=_limits(cursor, config.success, values))


def _denial(cursor: Cursor, config: Config, values: list[str]) -> Config:
    return replace(config, denial=_limits(cursor, config.denial, values))


def _limits(cursor: Cursor, limits: Limits, values: list[str]) -> Limits:
    """`CAPACITY [TTL] [MINTTL]`; what follows is not looked at."""
    if not values:
        raise cursor.arg_err()
    limits = replace(limits, capacity=max(_int(values[0]) // _SHARDS, _SMALLEST_SHARD) * _SHARDS)
    if len(values) > 1:
        limits = replace(limits, ttl=_positive_ttl(_int(values[1])))
    if len(values) > 2:
        min_ttl = _int(values[2])
        if min_ttl < 0:
            raise _UNLOCATED(f"cache min TTL can not be negative: {min_ttl}")
        limits = replace(limits, min_ttl=min(min_ttl, _MAX_TTL))
    return limits


def _prefetch(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if not 1 <= len(values) <= 3:
        raise cursor.arg_err()
    prefetch = Prefetch(_int(values[0]))
    if prefetch.amount < 0:
        raise _UNLOCATED(f"prefetch amount should be positive: {prefetch.amount}")
    if len(values) > 1:
        prefetch = replace(prefetch, pause=_duration(values[1]))
    if len(values) > 2:
        digits, sign = values[2][:-1], values[2][-1:]
        if sign != "%":
            raise _UNLOCATED(f"last character of percentage should be `%`, but is: '{sign}'")
        percentage = _int(digits)
        if not 10 <= percentage <= 90:
            raise _UNLOCATED(f"percentage should fall in range [10, 90]: {percentage}")
        prefetch = replace(prefetch, percentage=percentage)
    return replace(config, prefetch=prefetch if prefetch.amount else None)


def _serve_stale(cursor: Cursor, config: Config, values: list[str]) -> Config:
    stale = Stale()
    if values:
        stale = replace(stale, window=_duration(values[0]))
        if stale.window < 0:
            raise _UNLOCATED("invalid negative duration for serve_stale")
    if len(values) > 1:
        mode = values[1].lower()
        if mode not in ("immediate", "verify"):
            raise _UNLOCATED(f"invalid value for serve_stale refresh mode: {mode}")
        stale = replace(stale, verify=mode == "verify")
        rest = values[2:]
        if stale.verify and rest:
            stale = replace(stale, timeout=_not_negative(rest.pop(0), "verify timeout"))
        if len(rest) > 2:
            raise cursor.arg_err()
        if rest:
            stale = replace(stale, ttl=_whole_seconds(rest[0]))
        if len(rest) > 1:
            recheck = _not_negative(rest[1], "recheck interval")
            if recheck > _MAX_RECHECK:
                raise _UNLOCATED("a serve_stale recheck interval over 5 minutes is not permitted")
            stale = replace(stale, recheck=recheck)
    return replace(config, stale=stale if stale.window else None)


def _serve_stale_policy(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.arg_err()
    if values[0] != "prefer_positive":
        raise _UNLOCATED(f"invalid value for serve_stale_policy: {values[0]}, expected prefer_positive")
    return replace(config, prefer_positive=True)


def _servfail(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.arg_err()
    servfail = _duration(values[0])
    if servfail < 0:
        raise _UNLOCATED("invalid negative ttl for servfail")
    if servfail > _MAX_SERVFAIL:
        raise _UNLOCATED("caching SERVFAIL responses over 5 minutes is not permitted")
    return replace(config, servfail=servfail)


def _disable(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if not values:
        raise cursor.arg_err()
    zones = zones_of(values[1:], (ROOT,))
    if values[0] == "success":
        return replace(config, no_success=zones)
    if values[0] == "denial":
        return replace(config, no_denial=zones)
    raise _UNLOCATED('cache type for disable must be "success" or "denial"')


def _keepttl(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if values:
        raise cursor.arg_err()
    return replace(config, keep_ttl=True)


def _soa_minimum(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if values:
        raise cursor.arg_err()
    return replace(config, soa_minimum=True)


_OPTIONS: dict[str, Callable[[Cursor, Config, list[str]], Config]] = {
    "success": _success,
    "denial": _denial,
    "prefetch": _prefetch,
    "serve_stale": _serve_stale,
    "serve_stale_policy": _serve_stale_policy,
    "servfail": _servfail,
    "disable": _disable,
    "keepttl": _keepttl,
    "soa_minimum": _soa_minimum,
}


def _positive_ttl(ttl: int) -> int:
    if ttl <= 0:
        raise _UNLOCATED(f"cache TTL can not be zero or negative: {ttl}")
    return min(ttl, _MAX_TTL)


def _not_negative(text: str, what: str) -> float:
    value = _duration(text)
    if value < 0:
        raise _UNLOCATED(f"invalid negative {what} for serve_stale")
    return value


def _whole_seconds(text: str) -> int:
    value = _not_negative(text, "response TTL")
    if value != int(value):
        raise _UNLOCATED(f"the serve_stale response TTL must be whole seconds: {text}")
    return min(int(value), _MAX_TTL)


def _int(text: str) -> int:
    try:
        return parse_int(text)
    except ValueError as error:
        raise _UNLOCATED(str(error)) from error


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise _UNLOCATED(str(error)) from error
