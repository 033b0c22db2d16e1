"""Queries that forward sends before the chain is asked, as bytes: see `dispatch.ahead`."""

from __future__ import annotations

import time
from typing import NamedTuple, Protocol

from waypost.dispatch.ahead import Journey
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_group import Upstream
from waypost.toolkit.upstream_reply import judge_datagram, query_tail, udp_limit
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import Query, parse_query
from waypost.wire.relay import plain_end

_HEADER_SIZE = 12


class Sender(Protocol):
    """The forward that sends."""

    def set_out(self) -> Upstream | None:
        """Whom to send a query to; None if it must go through the chain."""
        ...

    def arrive(self) -> None:
        """A query has its outcome."""
        ...


class Found(NamedTuple):
    """What came of a query that forward sent ahead, after so many seconds: for the forward that the chain comes to."""

    plugin: object
    upstream: Upstream
    result: Message | UpstreamError
    seconds: float


class FamilyRoad:
    """How the packets of one family are sent: with a header (less its id) of their own, and as they are behind it.

    Their question ends at `end`; a reply over UDP has at most `limit` bytes.
    """

    __slots__ = ("end", "header", "limit", "plugin")

    def __init__(self, plugin: Sender, header: bytes, end: int, limit: int) -> None:
        self.plugin = plugin
        self.header = header
        self.end = end
        self.limit = limit

    def send(self, journey: Journey) -> bool:
        """Send a packet; False if it cannot leave like this."""
        upstream = self.plugin.set_out()
        if upstream is None or upstream.datagrams is None:
            return False
        try:
            upstream.datagrams.post(_Sent(self, upstream, journey), self.header + journey.wire[_HEADER_SIZE:])
        except UpstreamError:  # the chain will meet it, too
            self.plugin.arrive()
            return False
        return True


def road_of(plugin: Sender, query: Query) -> FamilyRoad | None:
    """The road of a query's family; None if it is not sent on as it came."""
    tail = query_tail(query)
    header = tail[: _HEADER_SIZE - 2]
    if tail[_HEADER_SIZE - 2 :] != query.wire[_HEADER_SIZE:]:
        return None
    return FamilyRoad(plugin, header, query.end, udp_limit(query))


class _Sent:
    """One query under way, and then what it brought back."""

    __slots__ = ("_journey", "_road", "_started", "_upstream", "data", "end", "limit", "result")

    def __init__(self, road: FamilyRoad, upstream: Upstream, journey: Journey) -> None:
        self.limit = road.limit
        self.data = b""
        self.end = 0
        self.result: Message | UpstreamError | None = None
        self._road = road
        self._upstream = upstream
        self._journey = journey
        self._started = time.perf_counter()

    def judge(self, data: bytes) -> bool | None:
        """Whether a datagram is the outcome: None for noise to wait past."""
        road = self._road
        if len(data) <= road.limit:
            self.end = end = plain_end(data, self._journey.wire, road.end)
            if end:
                self.data = data
                return True
        self.result = judge_datagram(data, self._query())
        return None if self.result is None else True

    def deliver(self, result: bool) -> None:
        """The outcome is there."""
        if self.result is None:
            self._upstream.replied(self.data[3] & consts.RCODE_MASK, self._started)
        else:
            self._upstream.learn(self.result, self._started)
        self._road.plugin.arrive()
        self._journey.returned(self)

    def fail(self, error: UpstreamError) -> None:
        """There is no reply."""
        self.result = error
        self.deliver(True)

    def given(self) -> Found:
        """What the chain's forward is to find."""
        result = self.result
        if result is None:
            result = judge_datagram(self.data, self._query())
            assert result is not None
        return Found(self._road.plugin, self._upstream, result, time.perf_counter() - self._started)

    def _query(self) -> Query:
        """The query as it was sent."""
        wire = self._journey.wire
        return parse_query(wire[:2] + self._road.header + wire[_HEADER_SIZE:])
