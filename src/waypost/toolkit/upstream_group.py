"""One upstream with its sockets and its health, and the group of them that a directive names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Protocol

from waypost.metrics.registry import Counter
from waypost.toolkit.exchange import Transport, UpstreamClient
from waypost.toolkit.inflight import Receiver
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import Busy, Mismatch, UpstreamError
from waypost.toolkit.upstream_health import PROBE_TIMEOUT, Health, HealthSettings
from waypost.wire.message import Message
from waypost.wire.query import Query

# Longer than any query may take.
_DRAIN_SECONDS = 10.0


class Watcher(Protocol):
    """Who counts what an upstream does."""

    probe_failures: Counter

    def replied(self, rcode: int, seconds: float) -> None:
        """It replied, after this long."""
        ...


class Upstream:
    """One upstream with its sockets and its health."""

    __slots__ = ("_metrics", "_now", "address", "client", "datagrams", "health", "text")

    def __init__(
        self,
        address: UpstreamAddress,
        client: UpstreamClient,
        health: HealthSettings,
        metrics: Watcher,
    ) -> None:
        self.address = address
        self.text = str(address)
        self.client = client
        self.datagrams = client.datagrams
        probe = health.question()
        self.health = Health(
            health,
            lambda: self.client.probe(probe, stream=health.stream, patience=PROBE_TIMEOUT),
            metrics.probe_failures,
        )
        self._metrics = metrics
        self._now = time.perf_counter

    def post(self, query: Query, transport: Transport, receiver: Receiver) -> bool:
        """Ask without a task, if that can be done: the receiver gets the result once, now or later."""
        started = self._now()

        def received(result: Message | UpstreamError) -> None:
            self.learn(result, started)
            receiver(result)

        try:
            return self.client.post(query, transport, received)
        except UpstreamError as exc:
            received(exc)
            return True

    async def ask(self, query: Query, transport: Transport) -> Message:
        """The reply; a failure starts probes. Raises UpstreamError."""
        started = self._now()
        try:
            message = await self.client.ask(query, transport)
        except UpstreamError as exc:
            self.learn(exc, started)
            raise
        self.learn(message, started)
        return message

    def replied(self, rcode: int, started: float) -> None:
        """It replied to a query that was sent at this time of `time.perf_counter`."""
        self.health.replied(rcode)
        self._metrics.replied(rcode, self._now() - started)

    def learn(self, result: Message | UpstreamError, started: float) -> None:
        """What came of a query that was sent at this time of `time.perf_counter`."""
        if type(result) is Message:
            self.replied(result.rcode, started)
        elif not isinstance(result, Mismatch | Busy):
            self.health.suspect()

    def close(self) -> None:
        """Stop probing and close every socket."""
        self.health.close()
        self.client.close()


class UpstreamGroup:
    """The upstreams of one directive, in file order; `members` is replaced whole when what it was made from changes."""

    __slots__ = ("_beginning", "_busy", "_leaving", "_make", "_quiet", "_watch", "members")

    def __init__(self, make: Callable[[UpstreamAddress], Upstream], addresses: Iterable[UpstreamAddress]) -> None:
        self._make = make
        self.members = tuple(make(address) for address in addresses)
        self._beginning: asyncio.Task[None] | None = None
        self._busy = 0
        self._leaving: set[Upstream] = set()
        self._quiet: asyncio.Event | None = None
        self._watch: asyncio.Task[None] | None = None

    def replace(self, addresses: Sequence[UpstreamAddress]) -> None:
        """Take another list; an upstream that is on both keeps its state, one that is gone finishes its queries."""
        known = {upstream.address: upstream for upstream in self.members}
        self.members = tuple(known.pop(address) if address in known else self._make(address) for address in addresses)
        loop = asyncio.get_running_loop()
        for gone in known.values():
            gone.health.close()
            self._leaving.add(gone)
            loop.call_later(_DRAIN_SECONDS, self._part_with, gone)

    async def begin(
        self, first: Callable[[], Coroutine[Any, Any, None]], watch: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Do `first`, then run `watch` until the group is closed; both may call `replace`.

        Each is done once, however many directives share the group. What `first` raises goes to all of them.
        """
        loop = asyncio.get_running_loop()
        if self._beginning is None:
            self._beginning = loop.create_task(first())
        await asyncio.shield(self._beginning)
        if self._watch is None:
            self._watch = loop.create_task(watch())

    def enter(self) -> None:
        """A query begins."""
        self._busy += 1

    def leave(self) -> None:
        """A query has ended."""
        self._busy -= 1
        if self._quiet is not None and not self._busy:
            self._quiet.set()

    async def close(self) -> None:
        """Let queries under way end, then close everything."""
        for task in (self._beginning, self._watch):
            if task is not None:
                task.cancel()
        if self._busy:
            self._quiet = asyncio.Event()
            try:
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await self._quiet.wait()
            except TimeoutError:
                pass
        for upstream in (*self.members, *self._leaving):
            upstream.close()

    def _part_with(self, gone: Upstream) -> None:
        self._leaving.discard(gone)
        gone.close()
