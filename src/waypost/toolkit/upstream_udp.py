"""Queries to one upstream over UDP, from sockets that live for a second or some queries.

Every socket is connected, so that the kernel drops what comes from elsewhere and reports a closed port, and has a
random source port. Sharing one among as many queries as leave at once costs a fraction of a socket a query, and is too
short-lived to be found out and flooded with forged replies (RFC 5452 section 9.2).
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from waypost.toolkit.inflight import Answer, Asker, InFlight, MessageIds, Receiver, fill
from waypost.toolkit.mmsg import BATCH, SLOT, packets_of
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_dial import connected_datagram_socket
from waypost.toolkit.upstream_errors import (
    Busy,
    UpstreamError,
    connecting,
    ends_text,
    same_error,
    timed_out,
    transfer,
)
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_reply import judge_datagram, udp_limit
from waypost.wire.message import Message
from waypost.wire.query import Query

_QUERIES_A_SOCKET = 32
_LIFETIME = 1.0
_MAX_SOCKETS = 128
_MAX_WAITING = 16384
_MAX_DATAGRAM = 65535


class DatagramWaiter(Protocol):
    """Somebody who waits for a datagram. `limit` is the longest in bytes that the question allows."""

    limit: int

    def judge(self, data: bytes) -> Any:
        """What a datagram with the right id is: None for noise to wait past, else something for `deliver`."""
        ...

    def deliver(self, result: Any) -> None:
        """Have it; called once, later."""
        ...

    def fail(self, error: UpstreamError) -> None:
        """There will be none; called instead."""
        ...


class DatagramAsker(Asker):
    """Who gets the reply to a query as a message."""

    __slots__ = ("limit",)

    def __init__(self, query: Query, receiver: Receiver) -> None:
        super().__init__(query, receiver)
        self.limit = udp_limit(query)

    def judge(self, data: bytes) -> Message | UpstreamError | None:
        """The reply, why it is none, or None for noise."""
        return judge_datagram(data, self.query)

    def deliver(self, result: Message | UpstreamError) -> None:
        """Have it."""
        self.receiver(result)


class UdpSockets:
    """The sockets to one upstream: one takes queries, the others wait for their last replies.

    `timeout` is how long to wait for a reply, `expire` how long a socket may be used, both in seconds; `source` is the
    local IP address, empty for any.
    """

    __slots__ = (
        "_closed",
        "_current",
        "_ids",
        "_lifetime",
        "_open",
        "_uses",
        "address",
        "cache",
        "packets",
        "source",
        "timeout",
        "waiting",
    )

    def __init__(
        self, address: UpstreamAddress, timeout: float, expire: float, source: str, ids: MessageIds, cache: SocketCache
    ) -> None:
        self.address = address
        self.timeout = timeout
        self.source = source
        self.cache = cache
        self.waiting = 0
        self.packets = packets_of()
        self._lifetime = min(expire, _LIFETIME)
        self._uses = _QUERIES_A_SOCKET if expire > 0 else 1
        self._ids = ids
        self._closed: UpstreamError | None = None
        self._current: _UdpSocket | None = None
        self._open: set[_UdpSocket] = set()

    def ask(self, query: Query, tail: bytes) -> Answer:
        """Send a query; `tail` is the message behind its id. The future fails with UpstreamError.

        Raises UpstreamError if the query cannot be sent.
        """
        answer: Answer = asyncio.get_running_loop().create_future()
        self.post(DatagramAsker(query, fill(answer)), tail)
        return answer

    def post(self, waiter: DatagramWaiter, tail: bytes) -> None:
        """The same for a waiter. Raises UpstreamError if the query cannot be sent."""
        if self._closed is not None:
            raise same_error(self._closed)
        if self.waiting >= _MAX_WAITING:
            raise Busy(f"too many queries wait for {self.address}")
        current = self._current
        if current is not None and (current.uses_left > 0 or len(self._open) >= _MAX_SOCKETS):
            self.cache.hits.value += 1
        else:
            self.cache.misses.value += 1
            current = self._fresh()
        current.send(waiter, tail)

    def post_again(self, waiter: DatagramWaiter, tail: bytes) -> None:
        """A query that could not leave for what an earlier one met: its waiter is told if it still cannot."""
        try:
            self.post(waiter, tail)
        except UpstreamError as exc:
            waiter.fail(exc)

    def close(self) -> None:
        """Close every socket; queries that wait fail."""
        self._closed = UpstreamError(f"{self.address}: closed")
        for opened in list(self._open):
            opened.fail(self._closed)

    def retired(self, opened: _UdpSocket) -> None:
        """A socket takes no more queries."""
        if self._current is opened:
            self._current = None

    def closed(self, opened: _UdpSocket) -> None:
        """A socket is gone."""
        self.retired(opened)
        self._open.discard(opened)

    def _fresh(self) -> _UdpSocket:
        if self._current is not None:
            self._current.retire()
        try:
            opened = _UdpSocket(self, self._ids, self._lifetime, self._uses)
        except OSError as exc:
            raise connecting("udp", str(self.address), exc) from exc
        self._open.add(opened)
        self._current = opened
        return opened


_Outgoing = tuple[int, bytes, DatagramWaiter]
"""A query that leaves at the end of this turn of the loop: its id, what is behind that, and who waits."""


class _UdpSocket:
    """One source port and the queries that wait behind it. Those of one turn of the loop leave together."""

    __slots__ = (
        "_flight",
        "_large",
        "_loop",
        "_outgoing",
        "_owner",
        "_retired",
        "_sock",
        "_timer",
        "_used",
        "uses_left",
    )

    def __init__(self, owner: UdpSockets, ids: MessageIds, lifetime: float, uses: int) -> None:
        self.uses_left = uses
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._sock = connected_datagram_socket(owner.address, owner.source)
        self._flight: InFlight[DatagramWaiter] = InFlight(self._loop, ids, owner.timeout, self._late)
        self._outgoing: list[_Outgoing] = []
        self._used = False
        self._large = False
        self._retired = False
        self._timer = self._loop.call_later(lifetime, self.retire)
        self._loop.add_reader(self._sock.fileno(), self._readable)

    def send(self, waiter: DatagramWaiter, tail: bytes) -> None:
        """Send soon; the waiter gets the reply."""
        message_id = self._flight.add(waiter)
        self._owner.waiting += 1
        self.uses_left -= 1
        if waiter.limit > SLOT:
            self._large = True
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append((message_id, tail, waiter))

    def retire(self) -> None:
        """Take no more queries; close once none waits."""
        self._retired = True
        self._owner.retired(self)
        if not self._flight.waiting:
            self._close()

    def fail(self, error: UpstreamError) -> None:
        """End every waiting query and close. What they lead to at once goes over another socket."""
        self._owner.retired(self)
        self._owner.waiting -= len(self._flight.waiting)
        self._flight.fail_all(error)
        self._close()

    def _flush(self) -> None:
        """Send what is to leave. What cannot, because of what an earlier query met, goes over another socket."""
        outgoing, self._outgoing = self._outgoing, []
        sent = 0
        try:
            while sent < len(outgoing) and self._flight.waiting:  # it may have been closed
                some = outgoing[sent : sent + BATCH]
                packets = [message_id.to_bytes(2, "big") + tail for message_id, tail, _ in some]
                sent += self._owner.packets.send(self._sock, packets)
        except OSError as exc:
            error = transfer("write", "udp", self._ends(), exc)
            unsent = outgoing[sent:] if self._used or sent else []
            for message_id, _, _ in unsent:
                self._flight.forget(message_id)
                self._owner.waiting -= 1
            self.fail(error)
            for _, tail, waiter in unsent:
                self._owner.post_again(waiter, tail)
        self._used = True

    def _readable(self) -> None:
        flight = self._flight
        try:
            packets = [self._sock.recv(_MAX_DATAGRAM)] if self._large else self._owner.packets.receive(self._sock)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as exc:
            self.fail(transfer("read", "udp", self._ends(), exc))
            return
        for data in packets:
            self._received(data)
        if self._retired and not flight.waiting:
            self._close()

    def _received(self, data: bytes) -> None:
        if len(data) < 12:
            return
        message_id = data[0] << 8 | data[1]
        entry = self._flight.waiting.get(message_id)
        if entry is None:
            return
        waiter = entry[0]
        result = waiter.judge(data)
        if result is not None:
            self._owner.waiting -= 1
            self._flight.forget(message_id)
            waiter.deliver(result)

    def _late(self, waiters: list[DatagramWaiter]) -> None:
        self._owner.waiting -= len(waiters)
        error = timed_out("udp", self._ends())
        for waiter in waiters:
            waiter.fail(error)
        if self._retired and not self._flight.waiting:
            self._close()

    def _ends(self) -> str:
        return ends_text(self._sock.getsockname(), str(self._owner.address))

    def _close(self) -> None:
        if self._sock.fileno() < 0:  # by what a reply, or its absence, led to at once
            return
        self._timer.cancel()
        self._flight.close()
        self._loop.remove_reader(self._sock.fileno())
        self._sock.close()
        self._owner.closed(self)
