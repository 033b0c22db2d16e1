"""The parameters of an admin request, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from waypost.dispatch.explain import client_address
from waypost.dispatch.request import Address
from waypost.httpd.message import HttpRequest
from waypost.wire import addr, consts, names
from waypost.wire.errors import BadName
from waypost.wire.message import make_query

_DEFAULT_LIMIT: Final = 1000
_MAX_LIMIT: Final = 10_000
_MAX_DIGITS: Final = 9
_LOOPBACK: Final = "127.0.0.1"


class BadArgument(Exception):
    """The text says what was expected."""


class Wanted(NamedTuple):
    """A query to be explained as if this client had sent it. `offline`: upstreams are not asked."""

    wire: bytes
    client: Address
    datagram: bool
    offline: bool


class Selection(NamedTuple):
    """A name in wire form and lower case, and whether those below it are meant too."""

    name: bytes
    below: bool


def arguments(request: HttpRequest, known: Sequence[str]) -> dict[str, str]:
    """The parameters of the URL, each known and given once. Raises BadArgument.

    A body is refused: what somebody writes there must not go unread and leave a request for everything.
    """
    if request.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in request.headers:
        raise BadArgument("a body is not read: parameters belong into the URL")
    given: dict[str, str] = {}
    for name, value in parse_qsl(request.query, keep_blank_values=True):
        if name not in known:
            raise BadArgument(f"unknown parameter '{name}', expected {' or '.join(known) or 'none'}")
        if name in given:
            raise BadArgument(f"{name} is given twice")
        if not value:
            raise BadArgument(f"{name} is empty")
        given[name] = value
    return given


def selection(given: Mapping[str, str]) -> Selection:
    """What `name` or `zone` choose; everything without either. Raises BadArgument."""
    if "name" in given and "zone" in given:
        raise BadArgument("expected name or zone, not both")
    for parameter, below in (("name", False), ("zone", True)):
        if parameter in given:
            return Selection(_name(given, parameter).lower(), below)
    return Selection(names.ROOT, True)


def wanted(given: Mapping[str, str]) -> Wanted:
    """`name`, and if they are given `type`, `client`, `transport` (udp or tcp) and `offline`. Raises BadArgument."""
    if "name" not in given:
        raise BadArgument("expected name")
    qtype = consts.type_number(given.get("type", "A").upper())
    if qtype is None:
        raise BadArgument(f"type '{given['type']}' is not known")
    client = given.get("client", _LOOPBACK)
    if addr.pack(client) is None:
        raise BadArgument(f"client '{client}' is no IP address")
    transport = _choice(given, "transport", ("udp", "tcp"))
    offline = _choice(given, "offline", ("false", "true"))
    wire = make_query(0, consts.RD, _name(given, "name"), qtype)
    return Wanted(wire, client_address(client), transport == "udp", offline == "true")


def _choice(given: Mapping[str, str], parameter: str, known: tuple[str, ...]) -> str:
    """One of the words, the first if none is given."""
    value = given.get(parameter, known[0])
    if value not in known:
        raise BadArgument(f"{parameter} '{value}', expected {' or '.join(known)}")
    return value


def _name(given: Mapping[str, str], parameter: str) -> bytes:
    try:
        return names.from_text(given[parameter])
    except BadName as exc:
        raise BadArgument(f"{parameter} '{given[parameter]}' is no domain name: {exc}") from exc


def limit(given: Mapping[str, str]) -> int:
    """How many entries to list. Raises BadArgument."""
    text = given.get("limit", str(_DEFAULT_LIMIT))
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and 1 <= int(text) <= _MAX_LIMIT:
        return int(text)
    raise BadArgument(f"limit '{text}' is not a number from 1 to {_MAX_LIMIT}")
