"""The parameters of an admin request, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from waypost.httpd.message import HttpRequest
from waypost.wire import names
from waypost.wire.errors import BadName

_DEFAULT_LIMIT: Final = 1000
_MAX_LIMIT: Final = 10_000
_MAX_DIGITS: Final = 9


class BadArgument(Exception):
    """The text says what was expected."""


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
            try:
                return Selection(names.from_text(given[parameter]).lower(), below)
            except BadName as exc:
                raise BadArgument(f"{parameter} '{given[parameter]}' is no domain name: {exc}") from exc
    return Selection(names.ROOT, True)


def limit(given: Mapping[str, str]) -> int:
    """How many entries to list. Raises BadArgument."""
    text = given.get("limit", str(_DEFAULT_LIMIT))
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and 1 <= int(text) <= _MAX_LIMIT:
        return int(text)
    raise BadArgument(f"limit '{text}' is not a number from 1 to {_MAX_LIMIT}")
