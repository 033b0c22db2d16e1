"""★1 Where queries come in: drain the socket, at most 64 datagrams a turn of the loop, and send the answers.

An answer from memory leaves within the same turn. One that must wait becomes a task; how many may wait is bounded, and
what comes above that is dropped and counted: a flood cannot eat the memory, and answers from memory go on.
"""

from __future__ import annotations

import asyncio
import socket
import time
import warnings
from collections.abc import Awaitable, Coroutine
from typing import Any

from waypost.dispatch.ahead import Answer, Destination, Journey, Messages, Passage
from waypost.dispatch.pending import Pending
from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.dispatch.waiting import Waiting
from waypost.listeners.datagrams import Datagrams, datagrams
from waypost.listeners.proxied import ProxiedDatagrams
from waypost.listeners.shedding import Shedding
from waypost.listeners.sockets import hand_over, receive_drops
from waypost.metrics.registry import Counter, Registry
from waypost.toolkit.mmsg import BATCH

# Before closing: as many turns as a full receive buffer needs, but not as long as somebody sends.
_LAST_TURNS = 512
_DRAIN_SECONDS = 5.0
_MAX_WAITING = 10_000


class UdpListener:
    """One bound UDP socket. `server` may be swapped at any time between two packets."""

    __slots__ = (
        "_datagrams",
        "_drops",
        "_leaving",
        "_loop",
        "_lost",
        "_metrics",
        "_missed",
        "_plain",
        "_proxied",
        "_shedding",
        "_v6",
        "_waiting",
        "alone",
        "server",
        "sock",
    )

    def __init__(self, sock: socket.socket, metrics: Registry) -> None:
        self.sock = sock
        self.server: Server | None = None
        self.alone = True
        """False if we have several sockets on the address, which cannot be handed over one by one."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting = Waiting()
        self._leaving: list[tuple[bytes, Any]] = []
        self._drops = metrics.counter(
            "waypost_dropped_packets_total",
            "Counter of packets that were dropped, by reason.",
            ("reason",),
        )
        self._missed = metrics.counter(
            "waypost_udp_receive_drops_total",
            "Counter of datagrams that the kernel dropped because the receive buffer was full, by server.",
            ("server",),
        )
        self._lost = 0
        self._metrics = metrics
        metrics.before_scrape.append(self._count_missed)
        self._v6 = sock.family == socket.AF_INET6
        self._datagrams: Datagrams = datagrams(sock)
        self._plain = self._datagrams
        self._shedding: Shedding | None = None
        self._proxied: ProxiedDatagrams | None = None

    def serve(self, server: Server) -> None:
        """Hand packets to this server from now on."""
        self.server = server
        self._proxied = ProxiedDatagrams.of(server, self._drops, self._proxied)
        if not server.sheds:
            self._shedding = None
        elif self._shedding is None:
            self._shedding = Shedding(self._plain, self.sock, server.label, self._metrics)
        self._datagrams = self._shedding or self._plain
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self.sock.fileno(), self._drain)

    async def close(self) -> None:
        """Answer what has already arrived, then close."""
        if self._loop is not None:
            self._loop.remove_reader(self.sock.fileno())
            if self.alone:
                hand_over(self.sock)
            for _ in range(_LAST_TURNS):
                if not self._drain():
                    break
            await self._waiting.ended(_DRAIN_SECONDS)
            self._flush()
        if self._shedding is not None:
            self._shedding.close()
        self._count_missed()
        self._metrics.before_scrape.remove(self._count_missed)
        self.sock.close()

    def _drain(self) -> bool:
        """Answer one batch; True if more may be waiting.

        Answers leave together at the end: a client that sleeps is woken once for all of them, and not for each.
        """
        server = self.server
        assert server is not None
        datagrams = self._datagrams
        try:
            packets = datagrams.receive()
        except OSError:  # an ICMP error of an earlier answer
            self._drop("socket").inc()
            return True
        received = time.perf_counter()
        proxied = self._proxied
        recall, serve = (
            (server.memos[self._v6].recall, server.serve) if proxied is None else (proxied.recall, proxied.serve)
        )
        client_of = datagrams.client
        answers: list[bytes | None] = []
        for number, wire in enumerate(packets):
            kept = recall(wire, received, client_of, number)
            if isinstance(kept, bytes):
                answers.append(kept)
                continue
            if kept is not None and self._depart(server, kept, wire, received, number):
                answers.append(None)
                continue
            answer = serve(wire, client_of(number), True)
            if isinstance(answer, bytes):
                answers.append(answer)
                continue
            answers.append(None)
            if answer is not None and not isinstance(answer, tuple):
                self._later(server, answer, datagrams.way(number))
        lost = datagrams.send(answers)
        if lost:
            self._drop("socket").inc(lost)
        return len(packets) == BATCH

    def _depart(self, server: Server, passage: Passage, wire: bytes, received: float, number: int) -> bool:
        """Send a query on at once, if that can be done (see `dispatch.ahead`)."""
        if len(self._waiting) >= _MAX_WAITING or not passage.admits(wire):
            return False
        if not passage.road.send(Journey(self, server, passage, wire, received, self._datagrams.way(number))):
            return False
        self._waiting.begin()
        server.waiting.begin()
        return True

    def client_of(self, way: Any) -> Address:
        """Who sent a query, by the way of its answer."""
        return self._datagrams.client_of(way)

    def land(self, journey: Journey, answer: Answer) -> None:
        """Send the answer to a query that was sent on."""
        self._waiting.end()
        journey.server.waiting.end()
        if type(answer) is bytes:
            self._send(answer, journey.way)
        elif isinstance(answer, Awaitable):
            self._later(journey.server, answer, journey.way)

    def _later(self, server: Destination, answer: Awaitable[Messages], way: Any) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            _give_up(answer)
            self._drop("overload").inc()
        elif isinstance(answer, Pending):
            self._follow(server, answer, way)
        else:
            assert self._loop is not None
            task = self._loop.create_task(self._send_later(answer, way))
            self._waiting.add(task)
            server.waiting.add(task)

    def _follow(self, server: Destination, answer: Pending[Messages], way: Any) -> None:
        """Send when it is there: no task is needed for that."""

        def done(messages: Messages) -> None:
            self._waiting.end()
            server.waiting.end()
            self._send(messages, way)

        def failed(error: Exception) -> None:
            done(None)
            raise error

        self._waiting.begin()
        server.waiting.begin()
        answer.finish(done, failed)

    async def _send_later(self, waiting: Awaitable[Messages], way: Any) -> None:
        self._send(await waiting, way)

    def _send(self, answer: Messages, way: Any) -> None:
        """Send with whatever else gets ready in this turn of the loop."""
        if isinstance(answer, bytes):
            if not self._leaving:
                assert self._loop is not None
                self._loop.call_soon(self._flush)
            self._leaving.append((answer, way))

    def _flush(self) -> None:
        leaving, self._leaving = self._leaving, []
        lost = self._datagrams.send_later(leaving)
        if lost:
            self._drop("socket").inc(lost)

    def _count_missed(self) -> None:
        """Ask the kernel; done before each scrape."""
        if self.server is not None:
            lost = receive_drops(self.sock)
            self._missed.labels(self.server.label).inc(lost - self._lost & 0xFFFFFFFF)
            self._lost = lost

    def _drop(self, reason: str) -> Counter:
        return self._drops.labels(reason)


def _give_up(answer: Awaitable[Messages]) -> None:
    """Let go of an answer that nobody will wait for."""
    if isinstance(answer, Pending):
        answer.finish(lambda messages: None, lambda error: None)
    elif isinstance(answer, Coroutine):
        with warnings.catch_warnings():  # that coroutines inside of it never ran is what we want
            warnings.simplefilter("ignore", RuntimeWarning)
            answer.close()
