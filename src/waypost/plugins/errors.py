"""errors: log why queries failed.

errors [stdout] {
    stacktrace
    consolidate DURATION REGEXP [warning|error|info|debug] [show_first]
}
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor, format_duration, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.log import Log
from waypost.toolkit.regexp import Regexp, compile_regexp
from waypost.toolkit.replacer import printable
from waypost.wire import consts, names
from waypost.wire.reply import Reply

_MAX_PATTERN: Final = 10_000
_LEVELS: Final[dict[str, Callable[[Log], Callable[[str], None]]]] = {
    "warning": lambda log: log.warning,
    "error": lambda log: log.error,
    "info": lambda log: log.info,
    "debug": lambda log: log.debug,
}


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Errors that `pattern` finds are counted for `seconds` and then reported in one line of this level."""

    seconds: float
    pattern: Regexp
    source: str
    level: str = "error"
    show_first: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """The first consolidation whose pattern is found counts."""

    stacktrace: bool = False
    consolidations: tuple[Consolidation, ...] = ()


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    if len(args) > 1:
        raise cursor.arg_err()
    if args and args[0] != "stdout":
        raise cursor.err(f"invalid log file: {args[0]}")
    stacktrace = False
    consolidations = []
    while cursor.next_block():
        if cursor.value == "stacktrace":
            stacktrace = True
        elif cursor.value == "consolidate":
            consolidations.append(_parse_consolidate(cursor))
        else:
            raise cursor.syntax_err(f"Unknown field {cursor.value}")
    if cursor.next():
        raise CorefileError.unlocated("this plugin can only be used once per Server Block")
    return Config(stacktrace, tuple(consolidations))


def _parse_consolidate(cursor: Cursor) -> Consolidation:
    args = cursor.remaining_args()
    if len(args) < 2:
        raise cursor.arg_err()
    seconds = cursor.parsed(parse_duration, args[0])
    source = args[1]
    if len(source) > _MAX_PATTERN:
        raise cursor.err(f"regex pattern too long: {len(source)} > {_MAX_PATTERN}")
    pattern = cursor.parsed(compile_regexp, source)
    level = ""
    show_first = False
    for word in args[2:]:
        if word == "show_first":
            show_first = True
        elif word not in _LEVELS:
            raise cursor.err(f"unknown option in consolidate: {word}")
        elif show_first:
            raise cursor.err("log level must come before show_first in consolidate")
        elif level:
            raise cursor.err("multiple log levels specified in consolidate")
        else:
            level = word
    return Consolidation(seconds, pattern, source, level or "error", show_first)


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; what it has counted is reported when the configuration stops."""
    config = parse(directive)
    site.stacktrace = config.stacktrace
    handler = Errors(config, site.log)
    site.hooks.stop.append(handler.stop)
    site.add(handler)


class Errors:
    """Logs the error of each reply that carries one; the reply goes on unchanged."""

    name = "errors"
    transparent = True
    next: Handler

    def __init__(self, config: Config, log: Log) -> None:
        self._log = log
        self._tallies = [Tally(consolidation, log) for consolidation in config.consolidations]

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        outcome = self.next.serve(request)
        if isinstance(outcome, Reply):
            if outcome.error:
                self._report(request, outcome)
            return outcome
        return then(outcome, lambda reply: self._passing(request, reply))

    def stop(self) -> None:
        """Report what is still counted; from here on every error gets a line of its own."""
        for tally in self._tallies:
            tally.stop()

    def _passing(self, request: Request, reply: Reply) -> Reply:
        if reply.error:
            self._report(request, reply)
        return reply

    def _report(self, request: Request, reply: Reply) -> None:
        query = request.query
        name, rtype = names.to_text(query.name), consts.type_text(query.qtype)
        line = f"{reply.rcode} {name} {rtype}: {printable(reply.error)}"
        for tally in self._tallies:
            if tally.config.pattern.search(reply.error):
                tally.count(line)
                return
        self._log.error(line)


class Tally:
    """Counts errors of one pattern while a timer runs, which the first of them starts."""

    __slots__ = ("_stopped", "_timer", "_write", "config", "counted")

    def __init__(self, config: Consolidation, log: Log) -> None:
        self.config = config
        self.counted = 0
        self._write = _LEVELS[config.level](log)
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def count(self, line: str) -> None:
        """Count an error; `line` is its own line, for the first one and once stopped."""
        if self._stopped:
            self._write(line)
            return
        self.counted += 1
        if self.counted == 1:
            if self.config.show_first:
                self._write(line)
            self._timer = asyncio.get_running_loop().call_later(max(self.config.seconds, 0), self._report)

    def stop(self) -> None:
        """Report now and count no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._report()

    def _report(self) -> None:
        counted, self.counted, self._timer = self.counted, 0, None
        if counted > (1 if self.config.show_first else 0):
            period = format_duration(self.config.seconds)
            self._write(f"{counted} errors like '{self.config.source}' occurred in last {period}")
