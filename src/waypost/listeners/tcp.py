"""A listening TCP socket and its connections, whose number is bounded; with or without TLS, whatever is spoken."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

from waypost.dispatch.serve import Server
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits, TlsSettings
from waypost.listeners.certificates import Followed, server_context
from waypost.listeners.connection import TcpConnection
from waypost.listeners.owner import Connection, Owner
from waypost.listeners.proxied import Refusals
from waypost.listeners.proxied_stream import Gate, ProxiedStream
from waypost.listeners.sockets import BACKLOG, connection_limit, hand_over
from waypost.listeners.terms import Terms
from waypost.listeners.tls import Handshakes, TlsStream
from waypost.metrics.registry import Registry

_DRAIN_SECONDS = 5.0
# In which a handshake that has begun with us comes to its end.
_HANDSHAKE_SECONDS = 0.02
# Turns of the loop from a connection in the accept queue to its first query in our hands, and one to spare.
_LAST_TURNS = 6
# How many of the oldest connections are looked at for one that can go when there are too many.
_CANDIDATES = 64


Speak: TypeAlias = Callable[[Owner], asyncio.Protocol]
"""Makes the protocol of a new connection: a `Connection`, too."""


class TcpListener:
    """One listening TCP socket and its connections. `server` and the terms may be swapped at any time.

    `alpn` is what to agree on over TLS.
    """

    __slots__ = (
        "_acceptor",
        "_alpn",
        "_certificates",
        "_drops",
        "_empty",
        "_gate",
        "_handshakes",
        "_limit",
        "_most",
        "_speak",
        "_tls",
        "alone",
        "connections",
        "limits",
        "server",
        "sock",
        "timeouts",
        "waiting",
    )

    def __init__(
        self,
        sock: socket.socket,
        metrics: Registry,
        limit: int | None = None,
        speak: Speak = TcpConnection,
        alpn: Sequence[str] = (),
    ) -> None:
        self.sock = sock
        self.server: Server | None = None
        self.alone = True
        """False if we have several sockets on the address, which cannot be handed over one by one."""
        self.timeouts = Timeouts()
        self.limits = Limits()
        self.connections: dict[Connection, None] = {}
        self.waiting = 0
        self._speak = speak
        self._alpn = alpn
        self._most = self._limit = connection_limit() if limit is None else limit
        self._tls: TlsSettings | None = None
        self._certificates: Followed[ssl.SSLContext] | None = None
        self._handshakes = Handshakes(self._failed)
        self._gate: Gate | None = None
        self._acceptor: asyncio.Server | None = None
        self._empty: asyncio.Event | None = None
        self._drops = metrics.counter(
            "waypost_dropped_packets_total", "Counter of packets that were dropped, by reason.", ("reason",)
        )

    async def serve(self, server: Server, terms: Terms) -> None:
        """Hand messages to this server from now on; connections that are there already keep their TLS session."""
        self.server = server
        self.timeouts = terms.timeouts
        self.limits = terms.limits
        self._limit = min(terms.limits.connections or self._most, self._most)
        if terms.tls != self._tls or self._certificates is None:
            self._certificates = self._follow(terms.tls)
            self._tls = terms.tls
        policy = server.proxying
        refusals = Refusals(server.log, self._drops)
        self._gate = Gate(policy, refusals, terms.timeouts.read) if policy is not None else None
        if self._acceptor is None:
            loop = asyncio.get_running_loop()
            self._acceptor = await loop.create_server(self._connect, sock=self.sock, backlog=BACKLOG)

    async def close(self) -> None:
        """Answer what has already arrived, accept no more, let running queries finish, close every connection."""
        if self._acceptor is not None:
            if self.alone:
                hand_over(self.sock)
            await asyncio.sleep(_HANDSHAKE_SECONDS)
            for _ in range(_LAST_TURNS):
                await asyncio.sleep(0)
            self._acceptor.close()
        self._empty = asyncio.Event()
        if self._gate is not None:
            self._gate.close()
        for connection in list(self.connections):
            connection.finish()
        if self.connections:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _DRAIN_SECONDS)
        for connection in list(self.connections):
            connection.abort()
        self.sock.close()

    def admit(self, connection: Connection) -> bool:
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

    def forget(self, connection: Connection) -> None:
        """A connection is gone."""
        self.connections.pop(connection, None)
        if not self.connections and self._empty is not None:
            self._empty.set()

    def _connect(self) -> asyncio.Protocol:
        connection = self._speak(self)
        if self._certificates is not None:
            connection = TlsStream(connection, self._certificates.current(), self._handshakes)
        return connection if self._gate is None else ProxiedStream(connection, self._gate)

    def _follow(self, tls: TlsSettings | None) -> Followed[ssl.SSLContext] | None:
        if tls is None:
            return None
        return Followed((tls.certificate, tls.key, tls.ca), lambda: server_context(tls, self._alpn), self._warn)

    def _failed(self, reason: str) -> None:
        """A handshake failed: strangers that knock at the port must not flood the log."""
        self._drops.labels("handshake").inc()
        self._warn(f"TLS with a client failed: {reason}")

    def _warn(self, text: str) -> None:
        server = self.server
        if server is not None:
            server.log.once_a_burst(server.log.warning, f"{server.label}: {text}")
