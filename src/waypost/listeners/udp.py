"""★1 Where queries come in: drain the socket, at most 32 datagrams a turn of the loop, and send the answers.

An answer from memory leaves within the same turn. One that must wait becomes a task; how many may wait is bounded, and
what comes above that is dropped and counted: a flood cannot eat the memory, and answers from memory go on.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import warnings
from collections.abc import Awaitable
from typing import Any

from waypost.dispatch.request import Address
from waypost.dispatch.serve import Messages, Server
from waypost.listeners.sockets import WILDCARDS, receive_drops
from waypost.metrics.registry import Counter, Registry

_DRAIN = 32
# Before closing: as many turns as a full receive buffer needs, but not as long as somebody sends.
_LAST_TURNS = 512
_DRAIN_SECONDS = 5.0
_MAX_DATAGRAM = 4096
_MAX_WAITING = 10_000
_IP_PKTINFO = 8
_V4_INFO = struct.Struct("=i4s4s")
_V6_INFO = struct.Struct("=16si")
_LINK_LOCAL = b"\xfe\x80"
_Control = list[tuple[int, int, bytes]]


class UdpListener:
    """One bound UDP socket. `server` may be swapped at any time between two packets."""

    __slots__ = ("_drops", "_loop", "_lost", "_metrics", "_missed", "_read", "_waiting", "server", "sock")

    def __init__(self, sock: socket.socket, metrics: Registry) -> None:
        self.sock = sock
        self.server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Task[None]] = set()
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
        if _is_bound(sock):
            self._read = self._drain_bound
        else:
            self._read = self._drain_unbound
            _ask_for_destination(sock)

    def serve(self, server: Server) -> None:
        """Hand packets to this server from now on."""
        self.server = server
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self.sock.fileno(), self._read)

    async def close(self) -> None:
        """Answer what has already arrived, then close."""
        if self._loop is not None:
            self._loop.remove_reader(self.sock.fileno())
            for _ in range(_LAST_TURNS):
                if not self._read():
                    break
            if self._waiting:
                await asyncio.wait(self._waiting, timeout=_DRAIN_SECONDS)
        self._count_missed()
        self._metrics.before_scrape.remove(self._count_missed)
        self.sock.close()

    def _drain_bound(self) -> bool:
        """Answer up to 32 packets; True if more may be waiting.

        Answers leave together at the end: a client that sleeps is woken once for all of them, and not for each.
        """
        server = self.server
        assert server is not None
        serve, receive, send = server.serve, self.sock.recvfrom, self.sock.sendto
        answers: list[tuple[bytes, Address]] = []
        more = True
        for _ in range(_DRAIN):
            try:
                wire, client = receive(_MAX_DATAGRAM)
            except BlockingIOError:
                more = False
                break
            except OSError:  # an ICMP error of an earlier answer
                self._drop("socket").inc()
                continue
            answer = serve(wire, client, True)
            if isinstance(answer, bytes):
                answers.append((answer, client))
            elif answer is not None:
                self._later(server, answer, client, None)
        for reply, client in answers:
            try:
                send(reply, client)
            except OSError:  # no way to the client, or a full send buffer: nobody to tell
                self._drop("socket").inc()
        return more

    def _drain_unbound(self) -> bool:
        """The same on a wildcard socket: the answer must leave from the address that the query came to."""
        server = self.server
        assert server is not None
        sock = self.sock
        answers: list[tuple[bytes, _Control, Address]] = []
        more = True
        for _ in range(_DRAIN):
            try:
                wire, control, _flags, client = sock.recvmsg(_MAX_DATAGRAM, 64)
            except BlockingIOError:
                more = False
                break
            except OSError:
                self._drop("socket").inc()
                continue
            answer = server.serve(wire, client, True)
            if isinstance(answer, bytes):
                answers.append((answer, control, client))
            elif answer is not None:
                self._later(server, answer, client, _reply_control(control))
        for reply, control, client in answers:
            try:
                sock.sendmsg((reply,), _reply_control(control), 0, client)
            except OSError:
                self._drop("socket").inc()
        return more

    def _later(self, server: Server, answer: Any, client: Address, control: _Control | None) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            with warnings.catch_warnings():  # that coroutines inside of it never ran is what we want
                warnings.simplefilter("ignore", RuntimeWarning)
                answer.close()
            self._drop("overload").inc()
            return
        assert self._loop is not None
        task = self._loop.create_task(self._send_later(answer, client, control))
        for tasks in (self._waiting, server.pending):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _send_later(self, waiting: Awaitable[Messages], client: Address, control: _Control | None) -> None:
        answer = await waiting
        if not isinstance(answer, bytes):
            return
        try:
            if control is None:
                self.sock.sendto(answer, client)
            else:
                self.sock.sendmsg((answer,), control, 0, client)
        except OSError:
            self._drop("socket").inc()

    def _count_missed(self) -> None:
        """Ask the kernel; done before each scrape."""
        if self.server is not None:
            lost = receive_drops(self.sock)
            self._missed.labels(self.server.label).inc(lost - self._lost & 0xFFFFFFFF)
            self._lost = lost

    def _drop(self, reason: str) -> Counter:
        return self._drops.labels(reason)


def _is_bound(sock: socket.socket) -> bool:
    return sock.getsockname()[0] not in WILDCARDS


def _ask_for_destination(sock: socket.socket) -> None:
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)


def _reply_control(control: _Control) -> _Control:
    """The control message that sends from the address a packet came to (Linux ip(7), RFC 3542 section 6.2)."""
    for level, kind, data in control:
        if level == socket.IPPROTO_IP and kind == _IP_PKTINFO:
            _index, local, _destination = _V4_INFO.unpack(data[: _V4_INFO.size])
            return [(level, kind, _V4_INFO.pack(0, local, b"\0\0\0\0"))]
        if level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO:
            local, index = _V6_INFO.unpack(data[: _V6_INFO.size])
            return [(level, kind, _V6_INFO.pack(local, index if local.startswith(_LINK_LOCAL) else 0))]
    return []
