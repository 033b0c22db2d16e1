"""What the plugin shed asks for: answers wait for a socket that is full, the newest leaves first, the oldest are lost.

A socket whose send buffer is full says that more is answered than can leave. As long as 1024 answers wait, new queries
are dropped unread, since their answers would only push out others.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from waypost.dispatch.request import Address
from waypost.listeners.datagrams import Datagrams
from waypost.metrics.registry import CounterFamily, Registry

DEPTH: Final = 1024
"""A burst of a few milliseconds; more would only keep older answers."""


def shed_counter(metrics: Registry) -> CounterFamily:
    """What is dropped."""
    text = "Counter of queries and responses dropped, per server, by reason."
    return metrics.counter("coredns_shed_dropped_total", text, ("server", "reason"))


class Shedding:
    """`Datagrams` around others on the same socket. `server` is a label."""

    __slots__ = ("_inner", "_loop", "_poll", "_queries", "_responses", "_sock", "_stack", "_waits")

    def __init__(self, inner: Datagrams, sock: socket.socket, server: str, metrics: Registry) -> None:
        self._inner = inner
        self._sock = sock
        self._stack: deque[tuple[bytes, Any]] = deque(maxlen=DEPTH)
        self._loop = asyncio.get_running_loop()
        self._waits = False
        self._poll = select.poll()
        self._poll.register(sock, select.POLLOUT)
        self._queries, self._responses = (shed_counter(metrics).labels(server, each) for each in ("query", "response"))

    def receive(self) -> list[bytes]:
        """The next datagrams, none while too many answers wait."""
        packets = self._inner.receive()
        if len(self._stack) < DEPTH:
            return packets
        self._queries.inc(len(packets))
        return []

    def client(self, number: int) -> Address:
        """Who sent a datagram."""
        return self._inner.client(number)

    def client_of(self, way: Any) -> Address:
        """Who sent the datagram that is answered this way."""
        return self._inner.client_of(way)

    def way(self, number: int) -> Any:
        """How its answer is sent later."""
        return self._inner.way(number)

    def send(self, answers: Sequence[bytes | None]) -> int:
        """Send what is there, now or as soon as that can be done."""
        if not self._stack and self._writable():
            return self._inner.send(answers)
        for number, answer in enumerate(answers):
            if answer is not None:
                self._hold(answer, self._inner.way(number))
        return 0

    def send_later(self, answers: Sequence[tuple[bytes, Any]]) -> int:
        """The same for answers to datagrams that came earlier."""
        if not self._stack and self._writable():
            return self._inner.send_later(answers)
        for answer, way in answers:
            self._hold(answer, way)
        return 0

    def close(self) -> None:
        """Send what can be sent, and give up the rest."""
        self._flush()
        self._responses.inc(len(self._stack))
        self._stack.clear()
        self._flush()

    def _hold(self, answer: bytes, way: Any) -> None:
        if len(self._stack) == DEPTH:  # the oldest one goes
            self._responses.inc()
        self._stack.append((answer, way))
        if not self._waits:
            self._waits = True
            self._loop.add_writer(self._sock.fileno(), self._flush)

    def _flush(self) -> None:
        """There is room in the socket."""
        while self._stack and self._writable():
            self._responses.inc(self._inner.send_later([self._stack.pop()]))
        if not self._stack and self._waits:
            self._waits = False
            self._loop.remove_writer(self._sock.fileno())

    def _writable(self) -> bool:
        return bool(self._poll.poll(0))
