"""Queries sent over one socket that wait for their replies, by message id; late ones end in one sweep."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Callable, Container
from typing import Generic, Protocol, TypeVar

from waypost.toolkit.upstream_errors import UpstreamError
from waypost.wire.message import Message
from waypost.wire.query import Query

Answer = asyncio.Future[Message]
Receiver = Callable[[Message | UpstreamError], None]
"""Takes the reply, or why there is none."""

_BATCH = 256
_UNPACK = struct.Struct(f"{_BATCH}H").unpack


class Waiter(Protocol):
    """Somebody who waits for a reply."""

    def fail(self, error: UpstreamError) -> None:
        """There will be none."""
        ...


W = TypeVar("W", bound=Waiter)


class Asker:
    """Who gets the reply to a query."""

    __slots__ = ("query", "receiver")

    def __init__(self, query: Query, receiver: Receiver) -> None:
        self.query = query
        self.receiver = receiver

    def fail(self, error: UpstreamError) -> None:
        """There will be none."""
        self.receiver(error)


class MessageIds:
    """Message ids that nobody can foresee (RFC 5452 section 9.2), drawn from the system in batches."""

    __slots__ = ("_drawn",)

    def __init__(self) -> None:
        self._drawn: list[int] = []

    def draw(self, taken: Container[int] = ()) -> int:
        """An id that is not among `taken`, of which there must not be too many."""
        while True:
            if not self._drawn:
                self._drawn.extend(_UNPACK(os.urandom(2 * _BATCH)))
            message_id = self._drawn.pop()
            if message_id not in taken:
                return message_id


class InFlight(Generic[W]):
    """The waiting queries of one socket, all with the same timeout in seconds, and so in the order of their deadlines.

    `waiting` has by message id who waits, and until when on the loop's clock. `on_late` gets those whose time is up.
    """

    __slots__ = ("_ids", "_loop", "_on_late", "_timeout", "_timer", "waiting")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ids: MessageIds,
        timeout: float,
        on_late: Callable[[list[W]], None],
    ) -> None:
        self.waiting: dict[int, tuple[W, float]] = {}
        self._ids = ids
        self._timeout = timeout
        self._on_late = on_late
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def add(self, waiter: W) -> int:
        """A fresh message id for a query."""
        message_id = self._ids.draw(self.waiting)
        deadline = self._loop.time() + self._timeout
        self.waiting[message_id] = (waiter, deadline)
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._sweep)
        return message_id

    def forget(self, message_id: int) -> None:
        """A query that has its reply, or was not sent."""
        del self.waiting[message_id]

    def fail_all(self, error: UpstreamError) -> None:
        """Nothing will come any more."""
        late, self.waiting = self.waiting, {}
        for waiter, _ in late.values():
            waiter.fail(error)

    def close(self) -> None:
        """Cancel the timer; nothing may be added any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        self._timer = None
        now = self._loop.time()
        late = []
        for message_id, (waiter, deadline) in list(self.waiting.items()):
            if deadline > now:
                self._timer = self._loop.call_at(deadline, self._sweep)
                break
            del self.waiting[message_id]
            late.append(waiter)
        self._on_late(late)


def fill(answer: Answer) -> Receiver:
    """Let a future have the result, unless who waited for it has given up."""

    def receive(result: Message | UpstreamError) -> None:
        if answer.done():
            return
        if isinstance(result, UpstreamError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    return receive
