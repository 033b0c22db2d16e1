"""A reply that is on its way from a source that calls back: what is to be done with it then, without task or future.

Whoever is given one is its only holder. It adds a step and hands it on, or ends it with `finish`, or awaits it. So a
query that waits for an upstream is one object and a list of functions, which run one after the other when the reply
is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from waypost.wire.reply import Reply

T = TypeVar("T")
U = TypeVar("U")

# What a step mostly gives: nothing that must be waited for.
_AT_HAND = frozenset((Reply, bytes, tuple, type(None)))


class Pending(Generic[T]):
    """A value that comes later, and the steps that it goes through first. It is settled once, and finished once."""

    __slots__ = ("_done", "_error", "_failed", "_rescue", "_settled", "_steps", "_task", "_value")

    def __init__(self) -> None:
        self._steps: list[Callable[[Any], Any]] = []
        self._rescue: Callable[[Exception], Any] | None = None
        self._done: Callable[[Any], None] | None = None
        self._failed: Callable[[Exception], None] | None = None
        self._settled = False
        self._value: Any = None
        self._error: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def then(self, step: Callable[[T], U | Awaitable[U]]) -> Pending[U]:
        """Do this with the value when it is there: what it gives is the value from then on. Gives the same object."""
        if not self._settled:
            self._steps.append(step)
        elif self._error is None:
            self._settled = False
            self._steps = [step]
            self.settle(self._value)
        return self  # type: ignore[return-value]  # it is a pending U from here on

    def rescue(self, instead: Callable[[Exception], T]) -> Pending[T]:
        """Let this give the last value if a step raises, or if the source failed."""
        self._rescue = instead
        if self._error is not None:
            self._value, self._error = instead(self._error), None
        return self

    def settle(self, value: Any) -> None:
        """The source has the value: run the steps."""
        steps = self._steps
        try:
            for n, step in enumerate(steps, 1):
                value = step(value)
                if type(value) not in _AT_HAND and isinstance(value, Awaitable):
                    self._steps = steps[n:]
                    self._wait(value)
                    return
        except Exception as exc:
            self.fail(exc)
            return
        self._end(value, None)

    def fail(self, error: Exception) -> None:
        """There will be no value."""
        if self._rescue is not None:
            self._end(self._rescue(error), None)
        else:
            self._end(None, error)

    def finish(self, done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Hand the last value, or the error, to one of these: at once if it is there."""
        self._done, self._failed = done, failed
        if self._settled:
            self._end(self._value, self._error)

    def __await__(self) -> Generator[Any, None, T]:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def done(value: T) -> None:
            with suppress(asyncio.InvalidStateError):  # who waited has given up
                future.set_result(value)

        def failed(error: Exception) -> None:
            with suppress(asyncio.InvalidStateError):
                future.set_exception(error)

        self.finish(done, failed)
        return (yield from future)

    def _end(self, value: Any, error: Exception | None) -> None:
        done, failed = self._done, self._failed
        if done is None or failed is None:
            self._settled, self._value, self._error = True, value, error
            return
        # Who waits mostly refers to this object: a cycle, which only the collector would find.
        self._done = self._failed = self._rescue = None
        self._steps = []
        if error is None:
            done(value)
        else:
            failed(error)

    def _wait(self, awaitable: Awaitable[Any]) -> None:
        """Go on with the steps once a step's own waiting is over."""
        if isinstance(awaitable, Pending):
            awaitable.finish(self.settle, self.fail)
        else:
            self._task = asyncio.get_running_loop().create_task(self._settle_later(awaitable))

    async def _settle_later(self, awaitable: Awaitable[Any]) -> None:
        try:
            value = await awaitable
        except Exception as exc:
            self.fail(exc)
        else:
            self.settle(value)
