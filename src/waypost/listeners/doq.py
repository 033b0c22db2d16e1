"""DNS over QUIC (RFC 9250): a query and its answer on a stream of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from aioquic.quic import events

from waypost.dispatch.ahead import Answer, Messages
from waypost.listeners.overquic import ask_over_quic
from waypost.listeners.padding import framed_and_padded
from waypost.listeners.quicpeer import QuicPeer, cancel
from waypost.metrics.registry import Registry
from waypost.wire import consts
from waypost.wire.errors import Rejected
from waypost.wire.query import parse_query

ALPN: Final = "doq"
NO_ERROR, INTERNAL_ERROR, PROTOCOL_ERROR, REQUEST_CANCELLED, EXCESSIVE_LOAD = range(5)
"""Codes of RFC 9250 section 4.3."""
_UNIDIRECTIONAL: Final = 2
_MAX_HELD: Final = 1 << 18


class _Inbound:
    """A stream until the client has ended its side; `since` is on the loop's clock."""

    __slots__ = ("asked", "data", "since")

    def __init__(self, since: float) -> None:
        self.data = bytearray()
        self.since = since
        self.asked = False


class DoqSession:
    """A `Session`."""

    def __init__(self, peer: QuicPeer, metrics: Registry) -> None:
        self._peer = peer
        self._inbound: dict[int, _Inbound] = {}
        self._waiting: set[int] = set()
        self._held = 0
        self._sweeping = False
        self._responses = metrics.counter(
            "coredns_dns_quic_responses_total",
            "Counter of DoQ responses per server and QUIC application code.",
            ("server", "status"),
        )

    @property
    def busy(self) -> bool:
        """True if queries of it are not answered yet."""
        return bool(self._waiting)

    def received(self, event: events.QuicEvent) -> None:
        """Something happened on a stream."""
        if isinstance(event, events.StreamDataReceived):
            self._take(event.stream_id, event.data, event.end_stream)
        elif isinstance(event, events.StreamReset | events.StopSendingReceived):
            self._forget(event.stream_id)
            self._waiting.discard(event.stream_id)

    def say_goodbye(self) -> None:
        """There is no word for it."""

    def _take(self, stream: int, data: bytes, end: bool) -> None:
        if stream & _UNIDIRECTIONAL:
            self._break("a unidirectional stream")
            return
        inbound = self._inbound.get(stream)
        if inbound is None:
            inbound = self._open(stream)
        if inbound is None or inbound.asked:
            self._end(stream, inbound, data, end)
            return
        inbound.data += data
        self._held += len(data)
        size = 2 + int.from_bytes(inbound.data[:2], "big")
        if self._held > _MAX_HELD:
            self._peer.close(EXCESSIVE_LOAD, "too many unfinished queries")
        elif len(inbound.data) < max(size, 3):
            if end or (len(inbound.data) == 2 and size == 2):
                self._break("a stream ended early")
        elif len(inbound.data) > size:
            self._break("more than one query on a stream")
        else:
            wire = bytes(inbound.data[2:])
            self._held -= len(inbound.data)
            inbound.asked, inbound.data = True, bytearray()
            if end:
                del self._inbound[stream]
            self._ask(stream, wire)

    def _open(self, stream: int) -> _Inbound | None:
        """A new stream, unless there are too many."""
        limit = self._peer.host.limits.streams
        if limit and len(self._inbound) + len(self._waiting) >= limit:
            cancel(self._peer.quic, stream, EXCESSIVE_LOAD)
            return None
        loop = asyncio.get_running_loop()
        inbound = self._inbound[stream] = _Inbound(loop.time())
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(self._peer.host.timeouts.read, self._sweep)
        return inbound

    def _end(self, stream: int, inbound: _Inbound | None, data: bytes, end: bool) -> None:
        """The rest of a stream whose query is known, or was refused."""
        if inbound is not None and data:
            self._break("more than one query on a stream")
        elif end:
            self._inbound.pop(stream, None)

    def _ask(self, stream: int, wire: bytes) -> None:
        if wire[:2] != b"\0\0":
            self._break("a message id that is not 0")
            return
        if _keeps_alive(wire):
            self._break("an edns-tcp-keepalive option")
            return
        answer: Answer = ask_over_quic(self._peer.server, wire, self._peer.client)
        if not isinstance(answer, Awaitable):
            self._answer(stream, answer)
            return
        self._waiting.add(stream)
        if not self._peer.later(answer, lambda messages: self._answer_late(stream, messages)):
            self._waiting.discard(stream)
            cancel(self._peer.quic, stream, EXCESSIVE_LOAD)
            self._count(EXCESSIVE_LOAD)

    def _answer_late(self, stream: int, answer: Messages) -> None:
        if stream in self._waiting:
            self._waiting.remove(stream)
            self._answer(stream, answer)

    def _answer(self, stream: int, answer: Messages) -> None:
        if answer is None:
            cancel(self._peer.quic, stream, INTERNAL_ERROR)
            self._count(INTERNAL_ERROR)
            return
        self._peer.quic.send_stream_data(stream, framed_and_padded(answer), end_stream=True)
        self._count(NO_ERROR)

    def _break(self, what: str) -> None:
        """The client does not follow RFC 9250: the connection ends (section 4.3.3)."""
        self._count(PROTOCOL_ERROR)
        self._peer.close(PROTOCOL_ERROR, what)

    def _count(self, code: int) -> None:
        self._responses.labels(self._peer.server.label, f"{code:#x}").inc()

    def _forget(self, stream: int) -> None:
        inbound = self._inbound.pop(stream, None)
        if inbound is not None:
            self._held -= len(inbound.data)

    def _sweep(self) -> None:
        """Give up streams that take too long."""
        loop = asyncio.get_running_loop()
        seconds = self._peer.host.timeouts.read
        for stream, inbound in list(self._inbound.items()):
            if loop.time() - inbound.since >= seconds:
                self._forget(stream)
                if not inbound.asked:
                    cancel(self._peer.quic, stream, REQUEST_CANCELLED)
        self._peer.transmit()
        self._sweeping = bool(self._inbound)
        if self._sweeping:
            loop.call_later(seconds, self._sweep)


def _keeps_alive(wire: bytes) -> bool:
    try:
        opt = parse_query(wire).opt
    except Rejected:  # the server says what is wrong
        return False
    return opt is not None and any(option.code == consts.EDNS_TCP_KEEPALIVE for option in opt.options)
