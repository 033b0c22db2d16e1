"""NOTIFY (RFC 1996): telling secondaries by UDP that a zone changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from waypost.corefile.quoting import quote
from waypost.log import Log
from waypost.metrics.registry import Counter
from waypost.toolkit.inflight import MessageIds
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_reply import query_tail
from waypost.toolkit.upstream_udp import UdpSockets
from waypost.wire import consts, names
from waypost.wire.message import make_query
from waypost.wire.query import Query, parse_query

_TRIES = 3
_PATIENCE = 2.0

Ask = Callable[[Query, UpstreamAddress, str], Awaitable[int]]
"""Asks a server, from a local address, and gives the rcode of its reply. Raises UpstreamError."""


async def ask(query: Query, server: UpstreamAddress, source: str) -> int:
    """One question over a socket of its own, waiting 2 s for the reply."""
    sockets = UdpSockets(server, _PATIENCE, 0.0, source, MessageIds(), SocketCache(Counter(), Counter()))
    try:
        return (await sockets.ask(query, query_tail(query))).rcode
    finally:
        sockets.close()


class Notifier:
    """Notifies in the background; a zone that changes again is told anew from the start."""

    __slots__ = ("_ask", "_log", "_tasks")

    def __init__(self, log: Log, ask: Ask = ask) -> None:
        self._log = log
        self._ask = ask
        self._tasks: dict[bytes, asyncio.Task[None]] = {}

    def start(self, zone: bytes, servers: Sequence[UpstreamAddress], source: str) -> None:
        """Tell these servers. It must be called in a running event loop."""
        running = self._tasks.get(zone)
        if running is not None:
            running.cancel()
        self._tasks[zone] = asyncio.get_running_loop().create_task(self._tell_all(zone, servers, source))

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell_all(self, zone: bytes, servers: Sequence[UpstreamAddress], source: str) -> None:
        await asyncio.gather(*(self._tell(zone, server, source) for server in servers))
        self._log.debug(f"Sent notifies for zone {quote(names.to_text(zone))} to {' '.join(map(str, servers))}")

    async def _tell(self, zone: bytes, server: UpstreamAddress, source: str) -> None:
        """Up to three times, until the server says NOERROR."""
        query = parse_query(make_query(0, consts.OPCODE_NOTIFY << 11 | consts.AA, zone, consts.TYPE_SOA))
        reason = ""
        for _ in range(_TRIES):
            try:
                rcode = await self._ask(query, server, source)
            except UpstreamError as exc:
                reason = str(exc)
                continue
            if rcode == consts.NOERROR:
                return
            reason = f"rcode was {consts.rcode_text(rcode)}"
        self._log.warning(
            f"notify for zone {quote(names.to_text(zone))} was not accepted by {quote(str(server))}: {quote(reason)}"
        )
