"""The words of a forward directive as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from waypost.corefile.addresses import is_ip
from waypost.corefile.args import Cursor, format_duration, parse_duration, parse_int, parse_uint
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.corefile.zones import zones_of_argument
from waypost.plugins.forward.probing import read_probe
from waypost.plugins.forward.targets import Target, parse_targets
from waypost.toolkit.upstream_address import UpstreamAddress, parse_upstream
from waypost.wire import consts, names

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Config:
    """One forward line. Zones are in wire form, lower case; times in seconds; `warnings` are for the log.

    0 is no limit for `max_age`, `max_idle_conns`, `max_concurrent` and `max_connect_attempts`, whose None is twice the
    number of upstreams. `tls` holds file names as written. Empty `resolver` stands for the system's name servers.
    """

    origin: bytes
    to: tuple[Target, ...]
    excluded: tuple[bytes, ...] = ()
    force_tcp: bool = False
    prefer_udp: bool = False
    expire: float = 10.0
    max_age: float = 0.0
    max_idle_conns: int = 0
    read_timeout: float = 2.0
    max_fails: int = 2
    max_connect_attempts: int | None = None
    max_concurrent: int = 0
    tls: tuple[str, ...] = ()
    tls_servername: str = ""
    policy: str = "random"
    health_interval: float = 0.5
    health_recursion: bool = True
    health_domain: bytes = names.ROOT
    health_unhealthy: frozenset[int] = frozenset()
    next_rcodes: frozenset[int] = frozenset()
    next_on_nodata: bool = False
    failover: frozenset[int] = frozenset()
    failfast: bool = False
    source_address: str = ""
    doh_method: str = "POST"
    resolver: tuple[UpstreamAddress, ...] = ()
    warnings: tuple[str, ...] = ()


Draft = dict[str, Any]
"""Fields of a Config that differ from the defaults."""


def parse(directive: Directive) -> tuple[Config, ...]:
    """Every forward line of a server block, in file order. Raises CorefileError."""
    cursor = Cursor(directive)
    configs = []
    for args in cursor.occurrences():
        if len(args) < 2:
            raise cursor.arg_err()
        draft: Draft = _origin(args[0])
        draft["to"] = parse_targets(args[1:])
        for name, values in cursor.options():
            option = _OPTIONS.get(name)
            if option is None:
                raise cursor.err(f"unknown property '{name}'")
            option(draft, cursor, values)
        configs.append(_checked(cursor, Config(**draft)))
    return tuple(configs)


def _origin(text: str) -> Draft:
    zones = zones_of_argument(text)
    if not zones:
        raise CorefileError.unlocated(f"unable to normalize '{text}'")
    draft: Draft = {"origin": names.from_text(zones[0])}
    if len(zones) > 1:
        warning = f"Unsupported CIDR notation: '{text}' expands to multiple zones. Using only '{zones[0]}'."
        draft["warnings"] = (warning,)
    return draft


def _checked(cursor: Cursor, config: Config) -> Config:
    if config.max_age and config.max_age < config.expire:
        raise CorefileError.unlocated(
            f"max_age ({format_duration(config.max_age)}) must not be less than expire"
            f" ({format_duration(config.expire)})"
        )
    if config.health_unhealthy and not config.max_fails:
        raise cursor.err("health_check: 'unhealthy' needs probes, and max_fails 0 switches them off")
    return config


def _plain(parser: Callable[[str], Value], text: str) -> Value:
    """CoreDNS reports a bad value of most options without its place."""
    try:
        return parser(text)
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc


def _one(cursor: Cursor, values: list[str]) -> str:
    if len(values) != 1:
        raise cursor.arg_err()
    return values[0]


def _flag(field: str) -> Callable[[Draft, Cursor, list[str]], None]:
    def option(draft: Draft, cursor: Cursor, values: list[str]) -> None:
        if values:
            raise cursor.arg_err()
        draft[field] = True

    return option


def _duration(name: str, *, zero: bool = True) -> Callable[[Draft, Cursor, list[str]], None]:
    def option(draft: Draft, cursor: Cursor, values: list[str]) -> None:
        seconds = _plain(parse_duration, _one(cursor, values))
        if seconds < 0:
            raise CorefileError.unlocated(f"{name} can't be negative: {format_duration(seconds)}")
        if not seconds and not zero:
            raise CorefileError.unlocated(f"{name} must be greater than 0: {format_duration(seconds)}")
        draft[name] = seconds

    return option


def _limit(name: str) -> Callable[[Draft, Cursor, list[str]], None]:
    def option(draft: Draft, cursor: Cursor, values: list[str]) -> None:
        number = _plain(parse_int, _one(cursor, values))
        if number < 0:
            raise CorefileError.unlocated(f"{name} can't be negative: {number}")
        draft[name] = number

    return option


def _count(name: str) -> Callable[[Draft, Cursor, list[str]], None]:
    def option(draft: Draft, cursor: Cursor, values: list[str]) -> None:
        draft[name] = _plain(lambda text: parse_uint(text, 32), _one(cursor, values))

    return option


def _rcodes(field: str) -> Callable[[Draft, Cursor, list[str]], None]:
    def option(draft: Draft, cursor: Cursor, values: list[str]) -> None:
        if not values:
            raise cursor.arg_err()
        rcodes = set(draft.get(field, ()))
        for text in values:
            rcode = consts.rcode_number(text.upper())
            if rcode is None:
                raise CorefileError.unlocated(f"{text} is not a valid rcode")
            rcodes.add(rcode)
        draft[field] = frozenset(rcodes)

    return option


def _except(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    excluded = draft.get("excluded", ())
    for text in values:
        zones = zones_of_argument(text)
        if not zones:
            draft["warnings"] = (*draft.get("warnings", ()), f"except: '{text}' is not a zone and excludes nothing")
        excluded += tuple(names.from_text(zone) for zone in zones)
    draft["excluded"] = excluded


def _tls(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if len(values) > 3:
        raise cursor.arg_err()
    draft["tls"] = tuple(values)


def _tls_servername(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    draft["tls_servername"] = _one(cursor, values)


def _policy(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    name = _one(cursor, values)
    if name not in ("random", "round_robin", "sequential"):
        raise cursor.err(f"unknown policy '{name}'")
    draft["policy"] = name


def _health_check(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    seconds = _plain(parse_duration, values[0])
    if seconds < 0:
        raise CorefileError.unlocated(f"health_check can't be negative: {format_duration(seconds)}")
    draft["health_interval"] = seconds
    draft.update(read_probe(cursor, values[1:]))


def _source_address(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    text = _one(cursor, values)
    if not is_ip(text):
        raise CorefileError.unlocated(f"source_address: invalid IP address {text}")
    draft["source_address"] = text


def _doh_method(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    method = _one(cursor, values)
    if method not in ("POST", "GET"):
        raise CorefileError.unlocated("doh_method must be either POST or GET")
    draft["doh_method"] = method


def _resolver(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    servers = []
    for text in values:
        server = None if "://" in text else parse_upstream(text, "forward")
        if server is None or not server.port:
            raise CorefileError.unlocated(f"resolver must be an IP address or IP:port: {quote(text)}")
        servers.append(server)
    draft["resolver"] = tuple(servers)


_OPTIONS: dict[str, Callable[[Draft, Cursor, list[str]], None]] = {
    "except": _except,
    "force_tcp": _flag("force_tcp"),
    "prefer_udp": _flag("prefer_udp"),
    "expire": _duration("expire"),
    "max_age": _duration("max_age"),
    "max_idle_conns": _limit("max_idle_conns"),
    "read_timeout": _duration("read_timeout", zero=False),
    "max_fails": _count("max_fails"),
    "max_connect_attempts": _count("max_connect_attempts"),
    "max_concurrent": _limit("max_concurrent"),
    "tls": _tls,
    "tls_servername": _tls_servername,
    "policy": _policy,
    "health_check": _health_check,
    "next": _rcodes("next_rcodes"),
    "next_on_nodata": _flag("next_on_nodata"),
    "failover": _rcodes("failover"),
    "failfast_all_unhealthy_upstreams": _flag("failfast"),
    "source_address": _source_address,
    "resolver": _resolver,
    "doh_method": _doh_method,
}
