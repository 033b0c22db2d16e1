"""timeouts: how long a TCP or TLS connection may be silent, and how many queries it may carry.

timeouts {
    read DURATION
    write DURATION
    idle DURATION
    maxtcpqueries NUMBER
}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from waypost.corefile.args import Cursor, format_duration, parse_duration, parse_int
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.dispatch.timeouts import Timeouts

_SHORTEST: Final = 1.0
_LONGEST: Final = 86400.0


def parse(directive: Directive) -> Timeouts:
    """Lines add up. Raises CorefileError."""
    cursor = Cursor(directive)
    timeouts = Timeouts()
    for args in cursor.occurrences():
        if args:
            raise cursor.arg_err().with_prefix("plugin/timeouts: ")  # named twice here, as in CoreDNS
        options = 0
        for name, values in cursor.options():
            timeouts = _with_option(cursor, timeouts, name, values)
            options += 1
        if not options:
            raise cursor.err("timeouts block with no timeouts specified").with_prefix("plugin/timeouts: ")
    return timeouts


def _with_option(cursor: Cursor, timeouts: Timeouts, name: str, values: list[str]) -> Timeouts:
    if len(values) != 1:
        raise cursor.arg_err()
    if name == "maxtcpqueries":
        return replace(timeouts, max_queries=_queries(cursor, values[0]))
    seconds = _seconds(cursor, values[0])
    if name == "read":
        return replace(timeouts, read=seconds)
    if name == "write":
        return replace(timeouts, write=seconds)
    if name == "idle":
        return replace(timeouts, idle=seconds)
    raise cursor.err(f"unknown option: '{name}'")


def _queries(cursor: Cursor, text: str) -> int:
    try:
        number = parse_int(text)
    except ValueError as exc:
        raise cursor.err(f"invalid value for maxtcpqueries '{text}': {exc}") from exc
    if number != -1 and number < 1:
        raise cursor.err(f"maxtcpqueries provided '{number}' needs to be -1 (unlimited) or a positive integer")
    return number


def _seconds(cursor: Cursor, text: str) -> float:
    """A duration; a bare number counts seconds."""
    try:
        parse_int(text)
    except ValueError:
        duration = text
    else:
        duration = f"{text}s"
    try:
        seconds = parse_duration(duration)
    except ValueError:
        raise cursor.err(f"failed to parse duration '{duration}'") from None
    if not _SHORTEST <= seconds <= _LONGEST:
        shown = format_duration(seconds)
        raise cursor.err(f"timeout provided '{shown}' needs to be between 1 second and 24 hours")
    return seconds


def setup(directive: Directive, site: Site) -> None:
    """Set the block's stream timeouts."""
    site.timeouts = parse(directive)
