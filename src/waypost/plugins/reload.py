"""reload: watch the Corefile and its imports, and reload when they say something else.

reload [INTERVAL] [JITTER]
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site

_MIN_INTERVAL = 2.0
_MIN_JITTER = 1.0


@dataclass(frozen=True, slots=True)
class Config:
    """Seconds between two looks, and the width of the random part."""

    interval: float = 30.0
    jitter: float = 15.0


def parse(directive: Directive) -> Config:
    """Raises CorefileError. A second line in a block says nothing, as in CoreDNS."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    if len(args) > 2:
        raise cursor.arg_err()
    config = Config()
    interval, jitter = config.interval, config.jitter
    if args:
        interval = cursor.parsed(parse_duration, args[0])
        if interval < _MIN_INTERVAL:
            raise cursor.err("interval value must be greater or equal to 2s")
    if len(args) > 1:
        jitter = cursor.parsed(parse_duration, args[1])
        if jitter != 0 and jitter < _MIN_JITTER:
            raise cursor.err("jitter value must be 0 or greater or equal to 1s")
    return Config(interval, min(jitter, interval / 2))


def setup(directive: Directive, site: Site) -> None:
    """Ask the process to watch its configuration."""
    config = parse(directive)
    site.services.watch_configuration(config.interval, config.jitter)
