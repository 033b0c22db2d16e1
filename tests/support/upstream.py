"""A scripted upstream on loopback, UDP and TCP on one port: good, slow, silent, lying, or broken in a chosen way.

A behaviour gets the query and gives the steps to take. Replies are made by dnspython.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


@dataclass(frozen=True)
class Asked:
    """One query as the upstream saw it; `connection` numbers the TCP connections, 0 for UDP."""

    message: dns.message.Message
    wire: bytes
    proto: str
    peer_port: int
    connection: int

    @property
    def name(self) -> str:
        return self.message.question[0].name.to_text()


@dataclass(frozen=True)
class Send:
    """A message; on TCP with its length in front."""

    wire: bytes


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, for TCP."""

    data: bytes


@dataclass(frozen=True)
class Wait:
    """Until an event happens."""

    event: asyncio.Event


@dataclass(frozen=True)
class Close:
    """End the TCP connection, with a reset if wanted."""

    reset: bool = False


Step = Send | Raw | Wait | Close
Behaviour = Callable[[Asked], Iterable[Step]]


def reply(asked: Asked, *records: str, rcode: str = "NOERROR", tc: bool = False) -> dns.message.Message:
    """A reply with answer records as text; `@` is the question's name."""
    made = dns.message.make_response(asked.message, recursion_available=True)
    made.set_rcode(dns.rcode.from_text(rcode))
    if tc:
        made.flags |= dns.flags.TC
    for record in records:
        owner, ttl, rdclass, rdtype, rdata = record.split(None, 4)
        made.answer.append(dns.rrset.from_text(asked.name if owner == "@" else owner, int(ttl), rdclass, rdtype, rdata))
    return made


def good(address: str = "192.0.2.1") -> Behaviour:
    """An A record."""
    return lambda asked: [Send(reply(asked, f"@ 60 IN A {address}").to_wire())]


def rcode(text: str) -> Behaviour:
    """An empty reply with this rcode."""
    return lambda asked: [Send(reply(asked, rcode=text).to_wire())]


def silent(asked: Asked) -> Iterable[Step]:
    """Nothing."""
    return []


def slow(event: asyncio.Event) -> Behaviour:
    """A good reply once the event happens."""
    return lambda asked: [Wait(event), *good()(asked)]


def truncating(asked: Asked) -> Iterable[Step]:
    """TC over UDP, two records over TCP."""
    if asked.proto == "udp":
        return [Send(reply(asked, tc=True).to_wire())]
    return [Send(reply(asked, "@ 60 IN A 192.0.2.1", "@ 60 IN A 192.0.2.2").to_wire())]


def changed(change: Callable[[dns.message.Message], Any]) -> Behaviour:
    """A good reply, changed."""

    def behave(asked: Asked) -> Iterable[Step]:
        made = reply(asked, "@ 60 IN A 192.0.2.66")
        change(made)
        return [Send(made.to_wire())]

    return behave


def then_good(*datagrams: Callable[[Asked], bytes]) -> Behaviour:
    """Other packets first, then the good reply."""
    return lambda asked: [*(Send(make(asked)) for make in datagrams), *good()(asked)]


class ScriptedUpstream:
    """An `async with` context. `seen` are the queries in order, `connections` the TCP connections accepted."""

    def __init__(self, behaviour: Behaviour | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self.behaviour = behaviour or good()
        self.seen: list[Asked] = []
        self.connections = 0
        self.port = 0
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def count(self, proto: str | None = None) -> int:
        """Queries seen, over one protocol or both."""
        return sum(1 for asked in self.seen if proto in (None, asked.proto))

    async def __aenter__(self) -> ScriptedUpstream:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the port used before if there was one."""
        loop = asyncio.get_running_loop()
        while self._transport is None or self._transport.is_closing():
            self._server = await asyncio.start_server(self._stream, "127.0.0.1", self.port, ssl=self._tls)
            port = self._server.sockets[0].getsockname()[1]
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:  # somebody else's UDP port, so take another one for both
                udp.close()
                self._server.close()
                if self.port:
                    raise
                continue
            self._transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=udp)
            self.port = port

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is None or self._transport is None:
            return
        self._server.close()
        self._transport.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.drop_connections()
        self._server = None
        await asyncio.sleep(0)

    def drop_connections(self) -> None:
        """Close every TCP connection, as a server does with idle ones."""
        for writer in list(self._writers):
            writer.close()
        self._writers.clear()

    def datagram(self, data: bytes, peer: tuple[str, int]) -> None:
        """One packet came."""
        asked = Asked(dns.message.from_wire(data), data, "udp", peer[1], 0)
        self.seen.append(asked)
        self._spawn(self._answer_datagram(asked, peer))

    async def _answer_datagram(self, asked: Asked, peer: tuple[str, int]) -> None:
        assert self._transport is not None
        for step in self.behaviour(asked):
            if isinstance(step, Wait):
                await step.event.wait()
            elif isinstance(step, Send):
                self._transport.sendto(step.wire, peer)

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._writers.add(writer)
        peer_port = writer.get_extra_info("peername")[1]
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                size = int.from_bytes(await reader.readexactly(2), "big")
                wire = await reader.readexactly(size)
                asked = Asked(dns.message.from_wire(wire), wire, "tcp", peer_port, number)
                self.seen.append(asked)
                self._spawn(self._answer_stream(asked, writer))
        writer.close()
        self._writers.discard(writer)

    async def _answer_stream(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        for step in self.behaviour(asked):
            if isinstance(step, Wait):
                await step.event.wait()
            elif isinstance(step, Send):
                writer.write(len(step.wire).to_bytes(2, "big") + step.wire)
            elif isinstance(step, Raw):
                writer.write(step.data)
            elif step.reset:
                _reset(writer)
                return
            else:
                writer.close()
                return

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, upstream: ScriptedUpstream) -> None:
        self._upstream = upstream

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._upstream.datagram(data, addr)


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port of loopback where nobody listens, held so that nobody else takes it meanwhile."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", 0))
        yield int(sock.getsockname()[1])


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is so; the test's time limit ends a vain wait."""
    while not condition():  # noqa: ASYNC110 - what is watched announces nothing
        await asyncio.sleep(0.001)
