"""erratic: answer with fixed records, and badly on purpose, to test clients.

erratic {
    drop [NUMBER]
    truncate [NUMBER]
    delay [NUMBER [DURATION]]
    large
}
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from waypost.corefile.args import Cursor, parse_duration, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.wire import addr, consts, names
from waypost.wire.names import ROOT
from waypost.wire.query import Query
from waypost.wire.record import Records, address, ns, soa
from waypost.wire.reply import DROP, Reply, authoritative, failure

_DEFAULT_EVERY: Final = 2
_DEFAULT_DELAY: Final = 0.1
_LARGE: Final = 30
_ADDRESSES: Final = {consts.TYPE_A: addr.pack("192.0.2.53"), consts.TYPE_AAAA: addr.pack("2001:db8::53")}
_SERVERS: Final = (
    (names.from_labels([b"a"])[:-1], addr.pack("2001:bd8::53")),
    (names.from_labels([b"b"])[:-1], addr.pack("2001:500::54")),
)
_MNAME: Final = names.from_text("sns.dns.icann.org")
_RNAME: Final = names.from_text("noc.dns.icann.org")
_TIMERS: Final = (7200, 3600, 1209600, 3600)


@dataclass(frozen=True, slots=True)
class Config:
    """One query in so many is dropped, truncated or delayed by `duration` seconds; 0 for none."""

    drop: int = _DEFAULT_EVERY
    truncate: int = 0
    delay: int = 0
    duration: float = 0.0
    large: bool = False


def parse(directive: Directive) -> Config:
    """Without a number for drop nothing is dropped if there is a delay or truncation. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    drop_set = False
    for _ in cursor.occurrences():
        for name, values in cursor.options():
            config = _with_option(cursor, config, name, values)
            drop_set = drop_set or (name == "drop" and bool(values))
    if (config.delay or config.truncate) and not drop_set:
        return replace(config, drop=0)
    return config


def _with_option(cursor: Cursor, config: Config, name: str, values: list[str]) -> Config:
    if name == "drop":
        return replace(config, drop=_every(cursor, values, 1)) if values else config
    if name == "truncate":
        return replace(config, truncate=_every(cursor, values, 1))
    if name == "delay":
        every = _every(cursor, values, 2)
        return replace(config, delay=every, duration=_duration(values[1]) if len(values) > 1 else _DEFAULT_DELAY)
    if name == "large":
        return replace(config, large=True)
    raise cursor.err(f"unknown property '{name}'")


def _every(cursor: Cursor, values: list[str], most: int) -> int:
    if len(values) > most:
        raise cursor.arg_err()
    if not values:
        return _DEFAULT_EVERY
    try:
        amount = parse_int(values[0], 32)
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
    if amount < 0:
        raise CorefileError.unlocated(f'illegal amount value given "{values[0]}"')
    return amount


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    site.add(Erratic(parse(directive)))


class Erratic:
    """A, AAAA and AXFR of any name; other types fail. Queries are counted from 0, so the first one is dropped."""

    name = "erratic"
    next: Handler

    def __init__(self, config: Config) -> None:
        self._config = config
        self._queries = 0

    def serve(self, request: Request) -> Outcome:
        """A reply at once or after the delay, or none."""
        config = self._config
        number = self._queries
        self._queries += 1
        request.note(self.name, "a fixed answer, or on purpose a bad one", ANSWERED)
        if config.drop and number % config.drop == 0:
            return DROP
        truncate = config.truncate > 0 and number & config.truncate == 0
        reply = self._reply(request.query, truncate=truncate)
        if config.delay and number % config.delay == 0 and config.duration > 0:
            return _delayed(reply, config.duration)
        return reply

    def _reply(self, query: Query, *, truncate: bool) -> Reply:
        if query.qtype == consts.TYPE_AXFR:
            return authoritative(query, _transfer(query.qname, complete=not truncate))
        packed = _ADDRESSES.get(query.qtype)
        if packed is None:
            return failure(consts.SERVFAIL)
        count = _LARGE if self._config.large and query.qtype == consts.TYPE_A else 1
        reply = authoritative(query, (address(query.qname, 0, packed),) * count)
        return reply.replace(flags=reply.flags | consts.TC) if truncate else reply

    def ready(self) -> bool:
        """Ready for two queries and then no more, to test what watches readiness."""
        return 3 <= self._queries < 5

    def autopath(self, request: Request) -> list[bytes]:
        """A fixed search path."""
        return [names.from_text("a.example.org"), names.from_text("b.example.org"), ROOT]


async def _delayed(reply: Reply, seconds: float) -> Reply:
    await asyncio.sleep(seconds)
    return reply


def _transfer(zone: bytes, *, complete: bool) -> Records:
    """A small zone; an incomplete one lacks the SOA at its end."""
    apex = soa(zone, 0, _MNAME, _RNAME, 2018050825, _TIMERS)
    fitting = [(label, packed) for label, packed in _SERVERS if len(label) + len(zone) <= names.MAX_NAME]
    hosts = [(label + zone, packed) for label, packed in fitting if packed is not None]
    servers = tuple(ns(zone, 0, host) for host, _ in hosts)
    addresses = tuple(address(host, 0, packed) for host, packed in hosts)
    return (apex, *servers, *addresses, apex) if complete else (apex, *servers, *addresses)
