"""A DNS client for one upstream: UDP, TCP or TLS, with sockets and connections that are kept for a while.

What it sends is the client's message with an id and a source port of its own; a reply counts only if it comes from
the upstream's address with that id and answers that question (RFC 5452 section 9.1).
"""

from __future__ import annotations

import ssl
from typing import NamedTuple, Protocol

from waypost.metrics.registry import Counter
from waypost.toolkit.inflight import MessageIds, Receiver
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_pool import PoolLimits
from waypost.toolkit.upstream_reply import query_tail
from waypost.toolkit.upstream_stream import StreamConnection
from waypost.toolkit.upstream_tcp import stream_pool
from waypost.toolkit.upstream_udp import DatagramAsker, UdpSockets
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import Query


class Transport(NamedTuple):
    """`stream` asks over TCP; `retry_truncated` repeats a UDP query over TCP when its reply has TC set."""

    stream: bool
    retry_truncated: bool = False


class ExchangeSettings(NamedTuple):
    """Times in seconds, `max_idle` a number of connections; 0 is no limit for `max_age` and `max_idle`.

    `source` is the local IP address to send from, for upstreams of its family; empty for any. `doh_method` is GET or
    POST.
    """

    read_timeout: float = 2.0
    expire: float = 10.0
    max_age: float = 0.0
    max_idle: int = 0
    source: str = ""
    doh_method: str = "POST"

    @property
    def pool_limits(self) -> PoolLimits:
        """What of it concerns connections."""
        return PoolLimits(self.read_timeout, self.expire, self.max_age, self.max_idle)


class UpstreamClient(Protocol):
    """Asks one upstream, whatever the protocol."""

    def post(self, query: Query, transport: Transport, receiver: Receiver) -> bool:
        """Ask without a task: the receiver gets the result once, later. False if that cannot be done: `ask` then.

        Raises UpstreamError if the query cannot be sent.
        """
        ...

    @property
    def datagrams(self) -> UdpSockets | None:
        """Where queries over UDP leave, None if the protocol is another."""
        ...

    async def ask(self, query: Query, transport: Transport) -> Message:
        """The reply to a query. Raises UpstreamError; Mismatch if the reply answers something else."""
        ...

    async def probe(self, query: Query, *, stream: bool, patience: float) -> int:
        """The rcode of the reply over a fresh socket; at most `patience` seconds a step. Raises UpstreamError."""
        ...

    def close(self) -> None:
        """Close every socket; queries that wait fail with UpstreamError."""
        ...


class Client:
    """An `UpstreamClient` over UDP and TCP, or with `tls` over TLS alone. It must be used, and closed, in a running
    loop."""

    __slots__ = ("_address", "_datagrams", "_ids", "_settings", "_streams", "_tls")

    def __init__(
        self,
        address: UpstreamAddress,
        tls: ssl.SSLContext | None,
        settings: ExchangeSettings,
        datagrams: SocketCache,
        streams: SocketCache,
    ) -> None:
        self._address = address
        self._tls = tls
        self._settings = settings
        self._ids = MessageIds()
        self._datagrams = UdpSockets(
            address, settings.read_timeout, settings.expire, settings.source, self._ids, datagrams
        )
        self._streams = stream_pool(address, tls, settings.pool_limits, settings.source, self._ids, streams)

    def post(self, query: Query, transport: Transport, receiver: Receiver) -> bool:
        """Ask over UDP, if whatever comes back over it is the reply. Raises UpstreamError."""
        if self._tls is not None or transport.stream or transport.retry_truncated:
            return False
        self._datagrams.post(DatagramAsker(query, receiver), query_tail(query))
        return True

    @property
    def datagrams(self) -> UdpSockets | None:
        """Where queries over UDP leave, None if the protocol is another."""
        return self._datagrams if self._tls is None else None

    async def ask(self, query: Query, transport: Transport) -> Message:
        """The reply to a query. Raises UpstreamError; Mismatch if the reply answers something else."""
        tail = query_tail(query)
        if self._tls is not None or transport.stream:
            return await self._streams.ask(query, tail)
        message = await self._datagrams.ask(query, tail)
        if transport.retry_truncated and message.flags & consts.TC:
            return await self._streams.ask(query, tail)
        return message

    async def probe(self, query: Query, *, stream: bool, patience: float) -> int:
        """The rcode of the reply over a fresh socket; at most `patience` seconds a step. Raises UpstreamError."""
        tail = query_tail(query)
        if self._tls is None and not stream:
            unseen = SocketCache(Counter(), Counter())
            sockets = UdpSockets(self._address, patience, 0.0, self._settings.source, self._ids, unseen)
            try:
                return (await sockets.ask(query, tail)).rcode
            finally:
                sockets.close()
        connection = StreamConnection(
            self._address, self._tls, patience, self._ids, StreamConnection.close, lambda closed: None
        )
        connection.open(patience, self._settings.source)
        return (await connection.ask(query, tail)).rcode

    def close(self) -> None:
        """Close every socket; queries that wait fail with UpstreamError."""
        self._datagrams.close()
        self._streams.close()
