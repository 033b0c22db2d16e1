"""HTTP connections through a transport and a clock of our own: no socket, no waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from support.clock import ClockLoop
from support.listening import FakeTransport, World, query
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits
from waypost.listeners.doh import DohService
from waypost.listeners.h1conn import Http1Codec
from waypost.listeners.h2conn import Http2Codec
from waypost.listeners.http import Codec
from waypost.listeners.httpconn import HttpConnection
from waypost.listeners.owner import Connection

POST = [
    (":method", "POST"),
    (":path", "/dns-query"),
    (":scheme", "https"),
    (":authority", "a"),
    ("content-type", "application/dns-message"),
]


def post(wire: bytes) -> bytes:
    """As HTTP/1.1."""
    head = (
        f"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Type: application/dns-message\r\nContent-Length: {len(wire)}"
    )
    return head.encode() + b"\r\n\r\n" + wire


class Bench:
    """An owner of connections, its world, and one connection unless `connect` makes more."""

    def __init__(self, loop: ClockLoop, choose: Callable[[str | None], Codec]) -> None:
        self.loop = loop
        self.world = World()
        self.server = self.world.server
        self.timeouts = Timeouts()
        self.limits = Limits()
        self.waiting = 0
        self.alive: set[Connection] = set()
        self.transport = FakeTransport()
        self.service = DohService(self.world.registry, "https")
        self.connection = HttpConnection(self, self.service, choose)
        self.transport.connect(self.connection)

    def admit(self, connection: Connection) -> bool:
        self.alive.add(connection)
        return True

    def forget(self, connection: Connection) -> None:
        self.alive.discard(connection)

    async def release(self, name: bytes) -> None:
        self.world.plugin.waiting[name].set()
        await self.loop.settle()

    @property
    def statuses(self) -> list[bytes]:
        return [part[:3] for part in self.transport.written.split(b"HTTP/1.1 ")[1:]]


def current() -> ClockLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ClockLoop)
    return loop


async def finish(bench: Bench) -> None:
    for event in bench.world.plugin.waiting.values():
        event.set()
    await bench.loop.settle()


@pytest.fixture
async def b() -> AsyncIterator[Bench]:
    """HTTP/1.1."""
    bench = Bench(current(), lambda protocol: Http1Codec(65535))
    yield bench
    await finish(bench)


class Client:
    """An HTTP/2 client of a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.http.initiate_connection()
        self._read = 0

    def send(self) -> None:
        self.bench.connection.data_received(self.http.data_to_send())

    def ask(self, name: str, stream: int) -> None:
        self.http.send_headers(stream, POST)
        self.http.send_data(stream, query(name), end_stream=True)

    def hear(self) -> list[Any]:
        data = self.bench.transport.written[self._read :]
        self._read += len(data)
        return self.http.receive_data(data)

    def answered(self) -> list[int]:
        return [event.stream_id for event in self.hear() if isinstance(event, h2.events.StreamEnded)]


@pytest.fixture
async def c() -> AsyncIterator[Client]:
    """HTTP/2."""
    bench = Bench(current(), lambda protocol: Http2Codec(65535, 200))
    yield Client(bench)
    await finish(bench)


class TestOneAfterTheOther:
    async def test_answers_in_order(self, b: Bench) -> None:
        b.connection.data_received(post(query("slow.")) + post(query("a.")) + b"GET /no HTTP/1.1\r\nHost: a\r\n\r\n")
        await b.loop.settle()
        assert b.statuses == []
        assert not b.transport.is_reading()
        await b.release(b"slow")
        assert b.statuses == [b"200", b"200", b"404"]
        assert b.transport.is_reading()

    async def test_the_server_knows_both_ends(self, b: Bench) -> None:
        b.connection.data_received(post(query()))
        (request,) = b.world.plugin.seen
        assert (request.client, request.local, request.protocol) == (("192.0.2.9", 40000), ("192.0.2.1", 53), "tcp")

    async def test_what_is_no_http(self, b: Bench) -> None:
        b.connection.data_received(b"\0\0\0\0\r\n\r\n")
        assert b.statuses == [b"400"]
        assert b.transport.state == "half closed"

    async def test_no_answer(self, b: Bench) -> None:
        b.connection.data_received(post(query("drop.")))
        assert b.statuses == [b"500"]

    async def test_a_client_that_went_away(self, b: Bench) -> None:
        b.connection.data_received(post(query("slow.")))
        await b.loop.settle()
        b.connection.connection_lost(ConnectionResetError())
        await b.release(b"slow")
        assert b.statuses == []
        assert not b.server.waiting
        assert not b.alive
        assert b.waiting == 0


class TestMany:
    async def test_answers_as_they_come(self, c: Client) -> None:
        c.ask("slow.", 1)
        c.ask("a.", 3)
        c.send()
        assert c.answered() == [3]
        await c.bench.loop.settle()
        await c.bench.release(b"slow")
        assert c.answered() == [1]

    async def test_a_large_read_is_taken_in_pieces(self, c: Client) -> None:
        for n in range(1, 400, 2):
            c.ask("a" * 60 + ".", n)
        data = c.http.data_to_send()
        assert len(data) > 16_384
        c.bench.connection.data_received(data)
        first = len(c.bench.world.plugin.seen)
        assert 0 < first < 200
        assert not c.bench.transport.is_reading()
        await c.bench.loop.settle()
        assert len(c.bench.world.plugin.seen) == 200
        assert c.bench.transport.is_reading()

    async def test_too_many_that_wait(self, c: Client) -> None:
        c.bench.limits = Limits(waiting=2)
        for n in range(4):
            c.ask(f"slow{n}.", 2 * n + 1)
        c.send()
        events = c.hear()
        statuses = {each.stream_id: dict(each.headers)[":status"] for each in events if hasattr(each, "headers")}
        assert statuses == {5: "503", 7: "503"}
        await c.bench.loop.settle()
        assert c.bench.waiting == 2

    async def test_a_flood_ends_the_connection_and_says_so_once(self, c: Client) -> None:
        for _ in range(2):
            c.send()
            c.bench.connection.data_received(
                b"\0\0\x08\x06\0\0\0\0\0" + bytes(8) + (b"\0\0\x08\x06\0\0\0\0\0" + bytes(8)) * 900
            )
        await c.bench.loop.settle()
        await c.bench.loop.settle()
        assert c.bench.transport.state == "half closed"
        assert c.bench.world.log.getvalue().count("too many frames") == 1

    async def test_a_client_that_reads_nothing_is_not_read_from(self, c: Client) -> None:
        c.bench.connection.pause_writing()
        c.ask("a.", 1)
        c.send()
        assert c.bench.world.plugin.seen == []
        assert not c.bench.transport.is_reading()
        c.bench.connection.resume_writing()
        assert len(c.bench.world.plugin.seen) == 1
        assert c.bench.transport.is_reading()


class TestTime:
    async def test_without_a_request(self, b: Bench) -> None:
        await b.loop.advance(2.9)
        assert b.transport.state == "open"
        await b.loop.advance(0.2)
        assert b.transport.state == "aborted"
        await b.loop.settle()
        assert not b.alive

    async def test_a_request_byte_by_byte(self, b: Bench) -> None:
        for n in range(40):
            b.connection.data_received(post(query())[n : n + 1])
            await b.loop.advance(0.1)
        assert b.transport.state != "open"

    async def test_between_requests(self, b: Bench) -> None:
        b.connection.data_received(post(query()))
        await b.loop.advance(9.9)
        assert b.transport.state == "open"
        await b.loop.advance(0.2)
        assert b.transport.state == "half closed"
        await b.loop.advance(1.1)
        assert b.transport.state == "aborted"

    async def test_an_idle_http2_connection_ends_with_a_goodbye(self, c: Client) -> None:
        c.ask("a.", 1)
        c.send()
        c.hear()
        await c.bench.loop.advance(3.1)
        await c.bench.loop.advance(10.1)
        assert any(isinstance(event, h2.events.ConnectionTerminated) for event in c.hear())
        assert c.bench.transport.state == "half closed"

    async def test_a_second_request_that_never_ends(self, b: Bench) -> None:
        b.connection.data_received(post(query()))
        await b.loop.advance(8)
        b.connection.data_received(post(query())[:-1])
        await b.loop.advance(2.5)
        assert b.transport.state == "open"
        await b.loop.advance(1)
        assert b.transport.state == "half closed"

    async def test_while_an_answer_is_worked_out(self, b: Bench) -> None:
        b.connection.data_received(post(query("slow.")))
        for _ in range(5):
            await b.loop.advance(10)
        assert b.transport.state == "open"

    async def test_a_client_that_does_not_read(self, b: Bench) -> None:
        b.connection.data_received(post(query()))
        b.transport.unsent = 1000
        b.connection.pause_writing()
        await b.loop.advance(5.1)
        assert b.transport.state == "aborted"


class TestEnd:
    async def test_idle_ones_end_at_once(self, b: Bench) -> None:
        b.connection.finish()
        assert b.transport.state == "closed"

    async def test_busy_ones_after_their_answers(self, c: Client) -> None:
        c.ask("slow.", 1)
        c.send()
        await c.bench.loop.settle()
        c.bench.connection.finish()
        assert c.bench.transport.state == "open"
        assert c.bench.connection.busy
        await c.bench.release(b"slow")
        assert 1 in [event.stream_id for event in c.hear() if isinstance(event, h2.events.StreamEnded)]
        assert c.bench.transport.state == "half closed"

    async def test_the_client_closes_its_side(self, b: Bench) -> None:
        b.connection.data_received(post(query("slow.")))
        await b.loop.settle()
        assert b.connection.eof_received()
        await b.release(b"slow")
        assert b.statuses == [b"200"]
        assert b.transport.state == "half closed"
