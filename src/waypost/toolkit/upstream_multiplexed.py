"""Asking one upstream over a protocol whose connections carry any number of queries: HTTP/2, QUIC."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from waypost.toolkit.exchange import Transport
from waypost.toolkit.inflight import Receiver
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_pool import Connect, ConnectionPool, PoolLimits, Spread
from waypost.toolkit.upstream_reply import query_tail
from waypost.wire.message import Message
from waypost.wire.query import Query

# One is enough, save that one which takes no more queries may still have some to finish.
_SPREAD = Spread(1, 1)


class MultiplexedClient:
    """An `UpstreamClient` with one connection. The limit of time is for all of a query, connecting and a second try
    included; how the client asked does not matter."""

    __slots__ = ("_address", "_connect", "_pool", "_timeout")

    datagrams = None

    def __init__(self, address: UpstreamAddress, connect: Connect, limits: PoolLimits, cache: SocketCache) -> None:
        self._address = address
        self._connect = connect
        self._timeout = limits.timeout
        self._pool = ConnectionPool(address, connect, _SPREAD, limits, cache)

    def post(self, query: Query, transport: Transport, receiver: Receiver) -> bool:
        """Never: a connection may have to be opened."""
        return False

    async def ask(self, query: Query, transport: Transport) -> Message:
        """The reply to a query. Raises UpstreamError; Mismatch if the reply answers something else."""
        return await self._within(self._timeout, self._pool.ask(query, query_tail(query)))

    async def probe(self, query: Query, *, stream: bool, patience: float) -> int:
        """The rcode of the reply over a fresh connection, within `patience` seconds. Raises UpstreamError."""
        connection = self._connect(patience, lambda idle: idle.close(), lambda closed: None)
        return (await self._within(patience, connection.ask(query, query_tail(query)))).rcode

    def close(self) -> None:
        """Close the connection; queries that wait fail with UpstreamError."""
        self._pool.close()

    async def _within(self, seconds: float, reply: Awaitable[Message]) -> Message:
        try:
            async with asyncio.timeout(seconds):
                return await reply
        except TimeoutError:
            raise UpstreamError(f"{self._address.scheme}://{self._address}: i/o timeout") from None
