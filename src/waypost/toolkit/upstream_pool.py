"""Connections to one upstream: kept, shared, aged, and replaced when the peer has closed one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol

from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import Busy, ConnectionLost
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.wire.message import Message
from waypost.wire.query import Query

_MAX_WAITING = 16384


class PooledConnection(Protocol):
    """One connection, on which any number of queries may wait.

    `load` is how many callers it has. `answered` says that it has worked before, `retired` that it shall get no new
    queries. `born` and `idle_since` (when the last caller left) are on the loop's clock.
    """

    load: int
    answered: bool
    retired: bool
    born: float
    idle_since: float

    async def ask(self, query: Query, tail: bytes) -> Message:
        """The reply to a query, whose message behind the id is `tail`. Raises UpstreamError."""
        ...

    def close(self) -> None:
        """Close; queries that wait fail with UpstreamError."""
        ...


OnChange = Callable[[PooledConnection], None]
Connect = Callable[[float, OnChange, OnChange], PooledConnection]
"""Makes a connection that begins to connect at once, and may be asked at once.

Takes the seconds that a query may wait, what to call when the last caller has left, and when the connection is gone.
"""


class Spread(NamedTuple):
    """Another connection is opened when each one has `queries`, up to `connections`; then the least busy is taken."""

    queries: int
    connections: int


class PoolLimits(NamedTuple):
    """Seconds to wait for a reply, that a connection may be idle, and that it may live (0: no limit); and how many
    idle ones may be kept (0: no limit)."""

    timeout: float
    expire: float
    max_age: float
    max_idle: int


class ConnectionPool:
    """The connections to one upstream."""

    __slots__ = ("_address", "_cache", "_connect", "_limits", "_open", "_spread", "_timer", "waiting")

    def __init__(
        self, address: UpstreamAddress, connect: Connect, spread: Spread, limits: PoolLimits, cache: SocketCache
    ) -> None:
        self.waiting = 0
        self._address = address
        self._connect = connect
        self._spread = spread
        self._limits = limits
        self._cache = cache
        self._open: list[PooledConnection] = []
        self._timer: asyncio.TimerHandle | None = None

    async def ask(self, query: Query, tail: bytes) -> Message:
        """The reply to a query; `tail` is the message behind its id. Raises UpstreamError.

        A connection that had worked before and broke is the peer's right (RFC 7766 section 6.2.4): the query goes
        out again over one that is new.
        """
        if self.waiting >= _MAX_WAITING:
            raise Busy(f"too many queries wait for {self._address}")
        self.waiting += 1
        try:
            connection = self._pick(proven=True)
            proven = connection.answered
            try:
                return await connection.ask(query, tail)
            except ConnectionLost:
                if not proven:
                    raise
            return await self._pick(proven=False).ask(query, tail)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Close every connection; queries that wait fail."""
        for connection in list(self._open):
            connection.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pick(self, *, proven: bool) -> PooledConnection:
        """The least busy connection, or a new one; without `proven` none that has answered before."""
        now = asyncio.get_running_loop().time()
        best: PooledConnection | None = None
        for connection in self._open:
            if (best is None or connection.load < best.load) and self._may_use(connection, now, proven):
                best = connection
                if not best.load:
                    break
        if best is not None and (best.load < self._spread.queries or len(self._open) >= self._spread.connections):
            self._cache.hits.value += 1
            return best
        self._cache.misses.value += 1
        fresh = self._connect(self._limits.timeout, self._became_idle, self._closed)
        self._open.append(fresh)
        return fresh

    def _may_use(self, connection: PooledConnection, now: float, proven: bool) -> bool:
        if connection.retired or (connection.answered and not proven):
            return False
        limits = self._limits
        too_old = limits.max_age > 0 and now - connection.born >= limits.max_age
        too_idle = connection.answered and not connection.load and now - connection.idle_since >= limits.expire
        connection.retired = too_old or too_idle
        return not connection.retired

    def _became_idle(self, connection: PooledConnection) -> None:
        """Keep it for the next query, if it may be kept."""
        idle = sum(1 for opened in self._open if not opened.load)
        limits = self._limits
        if connection.retired or not limits.expire or (limits.max_idle and idle > limits.max_idle):
            connection.close()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(limits.expire, self._sweep)

    def _sweep(self) -> None:
        """Close what was idle for too long."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._timer = None
        for connection in [opened for opened in self._open if not opened.load]:
            if connection.retired or now - connection.idle_since >= self._limits.expire:
                connection.close()
        idle = [opened.idle_since for opened in self._open if not opened.load]
        if idle:
            self._timer = loop.call_at(min(idle) + self._limits.expire, self._sweep)

    def _closed(self, connection: PooledConnection) -> None:
        if connection in self._open:
            self._open.remove(connection)
