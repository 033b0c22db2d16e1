"""multisocket: several processes, each with a socket of its own on each listen address.

multisocket [NUMBER]
"""

from __future__ import annotations

from typing import Final

from waypost.corefile.args import Cursor, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.toolkit.processors import usable_processors

_MOST: Final = 1024


def parse(directive: Directive) -> int:
    """How many sockets; as many as we may use processors without a NUMBER. Raises CorefileError."""
    cursor = Cursor(directive)
    lines = list(cursor.occurrences())
    if len(lines) > 1 or len(lines[0]) > 1:
        raise cursor.arg_err()
    if not lines[0]:
        return usable_processors()
    try:
        number = parse_int(lines[0][0])
    except ValueError as exc:
        raise CorefileError.unlocated(f"invalid num sockets: {exc}") from exc
    if number < 1:
        raise CorefileError.unlocated(f"num sockets can not be zero or negative: {number}")
    if number > _MOST:
        raise CorefileError.unlocated(f"num sockets exceeds maximum ({_MOST}): {number}")
    return number


def setup(directive: Directive, site: Site) -> None:
    """Set it for the block's listen addresses."""
    site.sockets = parse(directive)
