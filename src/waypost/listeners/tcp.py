"""A listening TCP socket and its connections, whose number is bounded."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from itertools import islice

from waypost.dispatch.serve import Server
from waypost.dispatch.timeouts import Timeouts
from waypost.listeners.connection import TcpConnection
from waypost.listeners.sockets import BACKLOG, connection_limit
from waypost.metrics.registry import Registry

_DRAIN_SECONDS = 5.0
# Turns of the loop from a connection in the accept queue to its first query in our hands, and one to spare.
_LAST_TURNS = 6
# How many of the oldest connections are looked at for one that can go when there are too many.
_CANDIDATES = 64


class TcpListener:
    """One listening TCP socket and its connections. `server` and `timeouts` may be swapped at any time."""

    __slots__ = ("_acceptor", "_drops", "_empty", "_limit", "connections", "server", "sock", "timeouts")

    def __init__(self, sock: socket.socket, metrics: Registry, limit: int | None = None) -> None:
        self.sock = sock
        self.server: Server | None = None
        self.timeouts = Timeouts()
        self.connections: dict[TcpConnection, None] = {}
        self._limit = connection_limit() if limit is None else limit
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
            self._acceptor = await loop.create_server(lambda: TcpConnection(self), sock=self.sock, backlog=BACKLOG)

    async def close(self) -> None:
        """Answer what has already arrived, accept no more, let running queries finish, close every connection."""
        if self._acceptor is not None:
            for _ in range(_LAST_TURNS):
                await asyncio.sleep(0)
            self._acceptor.close()
        self._empty = asyncio.Event()
        for connection in list(self.connections):
            connection.finish()
        if self.connections:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _DRAIN_SECONDS)
        for connection in list(self.connections):
            connection.abort()
        self.sock.close()

    def admit(self, connection: TcpConnection) -> bool:
        """Take a connection in; for one too many the oldest idle one must go (RFC 7766 section 6.2.3). Counts those."""
        if self._empty is not None:
            return False
        if len(self.connections) >= self._limit:
            self._drops.labels("connections").inc()
            idle = next((c for c in islice(self.connections, _CANDIDATES) if not c.busy), None)
            if idle is None:
                return False
            self.forget(idle)
            idle.abort()
        self.connections[connection] = None
        return True

    def forget(self, connection: TcpConnection) -> None:
        """A connection is gone."""
        self.connections.pop(connection, None)
        if not self.connections and self._empty is not None:
            self._empty.set()
