"""DNS over TCP (RFC 7766): length-framed messages, several a connection, answered in the order they came.

One timer a connection closes silent ones; a client that pipelines more than we answer, or does not read, is not read
from until it catches up. Answers to what arrived in one read leave in one write.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from waypost.dispatch.request import Address
from waypost.dispatch.serve import Messages, Server
from waypost.dispatch.timeouts import Timeouts
from waypost.metrics.registry import Registry

_MAX_PIPELINED = 256
_MAX_CONNECTIONS = 20_000
_DRAIN_SECONDS = 5.0


class TcpListener:
    """One listening TCP socket and its connections. `server` and `timeouts` may be swapped at any time."""

    __slots__ = ("_acceptor", "_drops", "_empty", "connections", "server", "sock", "timeouts")

    def __init__(self, sock: socket.socket, metrics: Registry) -> None:
        self.sock = sock
        self.server: Server | None = None
        self.timeouts = Timeouts()
        self.connections: set[TcpConnection] = set()
        self._acceptor: asyncio.Server | None = None
        self._empty: asyncio.Event | None = None
        self._drops = metrics.counter(
            "waypost_dropped_packets_total", "Counter of packets that were dropped, by reason.", ("reason",)
        )

    async def serve(self, server: Server, timeouts: Timeouts) -> None:
        """Hand messages to this server from now on."""
        self.server = server
        self.timeouts = timeouts
        if self._acceptor is None:
            loop = asyncio.get_running_loop()
            self._acceptor = await loop.create_server(lambda: TcpConnection(self), sock=self.sock)

    async def close(self) -> None:
        """Accept no more, let running queries finish, close every connection."""
        if self._acceptor is not None:
            self._acceptor.close()
        for connection in list(self.connections):
            connection.finish()
        if self.connections:
            self._empty = asyncio.Event()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _DRAIN_SECONDS)
        for connection in list(self.connections):
            connection.abort()
        self.sock.close()

    def closed(self, connection: TcpConnection) -> None:
        """Forget a connection."""
        self.connections.discard(connection)
        if not self.connections and self._empty is not None:
            self._empty.set()

    def full(self) -> bool:
        """True, and counted, if no further connection is taken."""
        if len(self.connections) < _MAX_CONNECTIONS:
            return False
        self._drops.labels("connections").inc()
        return True


class TcpConnection(asyncio.Protocol):
    """One client's connection."""

    __slots__ = (
        "_buffer",
        "_client",
        "_finishing",
        "_listener",
        "_local",
        "_pending",
        "_queries",
        "_since",
        "_task",
        "_timer",
        "_transport",
        "_writable",
    )

    def __init__(self, listener: TcpListener) -> None:
        self._listener = listener
        self._buffer = bytearray()
        self._pending: deque[bytes] = deque()
        self._client: Address = ("", 0)
        self._local: Address | None = None
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable = True
        self._finishing = False
        self._queries = 0
        self._since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first query."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._listener.full():
            transport.abort()
            return
        self._listener.connections.add(self)
        self._client = transport.get_extra_info("peername") or ("", 0)
        self._local = transport.get_extra_info("sockname")
        self._rest(self._listener.timeouts.read)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what was not answered."""
        self._listener.closed(self)
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Take whole messages out of the stream and answer them."""
        buffer = self._buffer
        buffer += data
        start, size = 0, len(buffer)
        while size - start >= 2:
            length = buffer[start] << 8 | buffer[start + 1]
            if size - start - 2 < length:
                break
            if length >= 12:
                self._pending.append(bytes(buffer[start + 2 : start + 2 + length]))
            start += 2 + length
        if start:
            del buffer[:start]
            self._since = asyncio.get_running_loop().time()
        self._answer()

    def eof_received(self) -> bool:
        """The client will send no more: answer what it asked, then close."""
        self.finish()
        return True

    def pause_writing(self) -> None:
        """The client does not read: answer no more for now."""
        self._writable = False

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable = True
        self._answer()

    def finish(self) -> None:
        """Close once everything that arrived is answered."""
        self._finishing = True
        self._answer()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        """Answer pending messages in order, up to the first that must wait."""
        server = self._listener.server
        assert server is not None
        out: list[bytes] = []
        while self._pending and self._task is None and self._writable:
            answer = server.serve(self._pending.popleft(), self._client, False, self._local)
            if answer is None or isinstance(answer, bytes | tuple):
                out.append(framed(answer))
                self._queries += answer is not None
            else:
                self._wait(server, answer)
            if self._listener.timeouts.max_queries > 0 and self._queries >= self._listener.timeouts.max_queries:
                self._pending.clear()
                self._finishing = True
        transport = self._transport
        if transport is None:
            return
        if out:
            transport.write(b"".join(out))
        if len(self._pending) > _MAX_PIPELINED:
            transport.pause_reading()
        elif not self._finishing:
            transport.resume_reading()
        if self._task is None and not self._pending:
            if self._finishing:
                transport.close()
            elif self._queries:
                self._rest(self._listener.timeouts.idle)

    def _wait(self, server: Server, answer: Awaitable[Messages]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._write_later(answer))
        server.pending.add(self._task)
        self._task.add_done_callback(server.pending.discard)

    async def _write_later(self, waiting: Awaitable[Messages]) -> None:
        try:
            answer = await waiting
            if answer is not None and self._transport is not None:
                self._transport.write(framed(answer))
                self._queries += 1
        finally:
            self._task = None
        self._answer()

    def _rest(self, seconds: float) -> None:
        """Close after this long without a whole message; one timer serves the connection's whole life."""
        loop: Any = asyncio.get_running_loop()
        self._since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(seconds, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._transport is None:
            return
        loop = asyncio.get_running_loop()
        timeouts = self._listener.timeouts
        limit = timeouts.idle if self._queries else timeouts.read
        left = self._since + limit - loop.time()
        busy = self._task is not None or bool(self._pending)
        if not busy and left <= 0:
            self._transport.close()
            return
        self._timer = loop.call_later(limit if busy else left, self._check)


def framed(answer: Messages) -> bytes:
    """Messages with their two-byte lengths (RFC 1035 section 4.2.2)."""
    if isinstance(answer, bytes):
        return len(answer).to_bytes(2, "big") + answer
    return b"".join(len(message).to_bytes(2, "big") + message for message in answer or ())
