"""cancel: give up on a query that takes too long.

cancel [TIMEOUT]
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.wire import consts
from waypost.wire.reply import Reply, failure


@dataclass(frozen=True, slots=True)
class Config:
    """Seconds that a query may take."""

    timeout: float = 5.001


def parse(directive: Directive) -> Config:
    """The last line in a block counts. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        if len(args) > 1:
            raise cursor.arg_err()
        config = Config(_timeout(args[0])) if args else Config()
    return config


def _timeout(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise CorefileError.unlocated(f'invalid duration: "{text}"') from None
    if seconds <= 0:
        raise CorefileError.unlocated(f'invalid negative duration: "{text}"')
    return seconds


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    site.add(Cancel(parse(directive).timeout))


class Cancel:
    """Waits for the plugins behind it so long and no longer."""

    name = "cancel"
    next: Handler

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    def serve(self, request: Request) -> Outcome:
        """SERVFAIL when the time is up; an answer from memory is not timed."""
        outcome = self.next.serve(request)
        return outcome if isinstance(outcome, Reply) else self._wait(request, outcome)

    async def _wait(self, request: Request, waiting: Awaitable[Reply]) -> Reply:
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await waiting
        except TimeoutError:
            if not deadline.expired():
                raise
        if request.trace is not None:
            request.note(self.name, f"given up: no answer within {self._timeout:g} s", ANSWERED)
        return failure(consts.SERVFAIL, "context deadline exceeded")
