"""One TCP or TLS connection to an upstream, with any number of queries on it at a time (RFC 7766 section 6.2.1.1)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from waypost.toolkit.inflight import Answer, Asker, InFlight, MessageIds, fill
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_dial import dial
from waypost.toolkit.upstream_errors import ConnectionLost, UpstreamError, ends_text, same_error, timed_out, transfer
from waypost.toolkit.upstream_reply import judge_message
from waypost.wire.message import Message
from waypost.wire.query import Query


class StreamConnection(asyncio.Protocol):
    """A `PooledConnection` that connects when `open` is called; `ask` may be called at once and waits for that.

    `on_idle` is called when the last caller leaves, `on_closed` when the connection is gone.
    """

    def __init__(
        self,
        address: UpstreamAddress,
        tls: ssl.SSLContext | None,
        timeout: float,
        ids: MessageIds,
        on_idle: Callable[[StreamConnection], None],
        on_closed: Callable[[StreamConnection], None],
    ) -> None:
        self.load = 0
        self.answered = False
        self.retired = False
        self._address = address
        self._tls = tls
        self._timeout = timeout
        self._on_idle = on_idle
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self.born = self.idle_since = self._heard = self._loop.time()
        self._flight: InFlight[Asker] = InFlight(self._loop, ids, timeout, self._late)
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._opened = asyncio.Event()
        self._error: UpstreamError | None = None
        self._dialling: asyncio.Task[None] | None = None

    def open(self, dial_timeout: float, source: str) -> None:
        """Begin to connect; gives up after `dial_timeout` seconds."""
        self._dialling = self._loop.create_task(self._dial(dial_timeout, source))

    async def ask(self, query: Query, tail: bytes) -> Message:
        """Send a query, `tail` being its message behind the id, and wait for the reply. Raises UpstreamError."""
        self.load += 1
        try:
            if not self._opened.is_set():
                await self._opened.wait()
            if self._error is not None or self._transport is None:
                raise same_error(self._error or ConnectionLost("EOF"))
            answer: Answer = self._loop.create_future()
            message_id = self._flight.add(Asker(query, fill(answer)))
            self._transport.write((len(tail) + 2).to_bytes(2, "big") + message_id.to_bytes(2, "big") + tail)
            return await answer
        finally:
            self.load -= 1
            if not self.load:
                self.idle_since = self._loop.time()
                self._on_idle(self)

    def close(self, error: UpstreamError | None = None) -> None:
        """Close; queries that wait fail with `error`."""
        if self._error is None:
            self._error = error or ConnectionLost(f"{self._address}: closed")
            self.retired = True
            self._flight.fail_all(self._error)
            self._flight.close()
            self._opened.set()
            self._on_closed(self)
        if self._dialling is not None:
            self._dialling.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to send."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._error is not None:
            transport.abort()
        self._opened.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer closed or reset it, or we did."""
        if isinstance(exc, OSError):
            self.close(transfer("read", "tcp", self._ends(), exc))
        else:
            self.close(ConnectionLost("EOF"))
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Messages with their lengths in front (RFC 1035 section 4.2.2), cut anywhere."""
        self._heard = self._loop.time()
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= 2:
            end = start + 2 + int.from_bytes(buffer[start : start + 2], "big")
            if len(buffer) < end:
                break
            self._received(bytes(buffer[start + 2 : end]))
            start = end
        del buffer[:start]

    def _received(self, data: bytes) -> None:
        message_id = int.from_bytes(data[:2], "big")
        entry = self._flight.waiting.get(message_id)
        if entry is None or len(data) < 12:
            return
        self.answered = True
        self._flight.forget(message_id)
        asker = entry[0]
        asker.receiver(judge_message(data, asker.query))

    def _late(self, askers: list[Asker]) -> None:
        """A connection on which nothing at all was heard while a query waited is as good as dead."""
        error = timed_out("tcp", self._ends())
        for asker in askers:
            asker.fail(error)
        if self._loop.time() - self._heard >= self._timeout:
            self.retired = True

    async def _dial(self, patience: float, source: str) -> None:
        error: UpstreamError | None = None
        try:
            await dial(lambda: self, self._address, self._tls, source, patience)
        except UpstreamError as exc:
            error = exc
        self._dialling = None
        if error is not None:
            self.close(error)

    def _ends(self) -> str:
        local: Any = self._transport.get_extra_info("sockname") if self._transport is not None else None
        return ends_text(local or ("", 0), str(self._address))
