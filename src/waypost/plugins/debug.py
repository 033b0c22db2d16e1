"""debug: log `[DEBUG]` lines, and let a fault in a plugin end the process instead of being answered with SERVFAIL.

debug
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.log import Log


@dataclass(frozen=True, slots=True)
class Config:
    """There is nothing to set."""


def parse(directive: Directive) -> Config:
    """Raises CorefileError for any argument."""
    cursor = Cursor(directive)
    for args in cursor.occurrences():
        if args:
            raise cursor.arg_err()
    return Config()


def setup(directive: Directive, site: Site) -> None:
    """Mark the block; debug lines begin once the configuration serves."""
    parse(directive)
    site.debug = True
    lines = site.services.lender.lend("debug", lambda: DebugLines(site.services.log))
    site.hooks.active.append(lines.on)


class DebugLines:
    """Debug lines of the whole process: on as long as a configuration with `debug` serves."""

    __slots__ = ("_log",)

    def __init__(self, log: Log) -> None:
        self._log = log

    def on(self) -> None:
        """Write them from now on."""
        self._log.set_debug(True)

    async def close(self) -> None:
        """Drop them: no configuration wants them any more."""
        self._log.set_debug(False)
