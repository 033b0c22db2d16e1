"""Connections through a transport and a clock of our own: no socket, no waiting."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from support.clock import ClockLoop
from support.listening import FakeTransport, World, numbers, query, response, stream
from waypost.dispatch.timeouts import Timeouts
from waypost.listeners.connection import TcpConnection
from waypost.listeners.sockets import open_socket
from waypost.listeners.tcp import TcpListener
from waypost.listeners.terms import Terms


class Bench:
    """A listener without a socket of use, its world, and one client unless `connect` makes more."""

    def __init__(self, loop: ClockLoop, sock: socket.socket) -> None:
        self.loop = loop
        self.world = World()
        self.listener = TcpListener(sock, self.world.registry, limit=3)
        self.listener.server = self.world.server
        self.transport = FakeTransport()
        self.connection = self.connect(self.transport)

    def connect(self, transport: FakeTransport) -> TcpConnection:
        connection = TcpConnection(self.listener)
        transport.connect(connection)
        return connection

    def send(self, *wires: bytes) -> None:
        self.connection.data_received(stream(*wires))

    async def release(self, name: bytes) -> None:
        self.world.plugin.waiting[name].set()
        await self.loop.settle()

    @property
    def answered(self) -> list[int]:
        return numbers(self.transport.written)

    def use(self, **timeouts: float) -> None:
        self.listener.timeouts = Timeouts(**timeouts)  # type: ignore[arg-type]


@pytest.fixture
async def b() -> AsyncIterator[Bench]:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ClockLoop)
    with socket.socket() as sock:
        bench = Bench(loop, sock)
        yield bench
        for event in bench.world.plugin.waiting.values():
            event.set()
        await loop.settle()


class TestFraming:
    async def test_byte_by_byte(self, b: Bench) -> None:
        data = stream(query("a.", 1), query("b.", 2))
        for i in range(len(data)):
            assert b.answered == [n for n, end in ((1, len(data) // 2), (2, len(data))) if i >= end]
            b.connection.data_received(data[i : i + 1])
        assert b.answered == [1, 2]

    async def test_several_in_one_read_leave_in_one_write(self, b: Bench) -> None:
        b.send(*(query("a.", n) for n in range(1, 51)))
        assert b.answered == list(range(1, 51))
        assert len(b.transport.writes) == 1

    @pytest.mark.parametrize("cut", [1, 2, 3, 20])
    async def test_a_read_may_end_anywhere(self, b: Bench, cut: int) -> None:
        data = stream(query("a.", 1), query("b.", 2))
        middle = len(data) // 2 + cut
        b.connection.data_received(data[:middle])
        assert b.answered == [1]
        b.connection.data_received(data[middle:])
        assert b.answered == [1, 2]

    async def test_what_is_no_query_is_passed_over(self, b: Bench) -> None:
        b.send(b"", b"\0", query()[:11], response(7), query("drop."), query("a.", 3))
        assert b.answered == [3]
        assert b.transport.state == "open"

    async def test_the_largest_message(self, b: Bench) -> None:
        b.send(query("a.", 1).ljust(65535, b"\0"), query("a.", 2))
        assert b.answered == [1, 2]

    async def test_the_server_knows_both_ends(self, b: Bench) -> None:
        b.send(query())
        (request,) = b.world.plugin.seen
        assert (request.client, request.local, request.datagram) == (
            ("192.0.2.9", 40000),
            ("192.0.2.1", 53),
            False,
        )


class TestOrder:
    async def test_one_that_waits_holds_up_the_later_ones(self, b: Bench) -> None:
        b.send(query("a.", 1), query("slow1.", 2), query("b.", 3), query("slow2.", 4), query("c.", 5))
        assert b.answered == [1]
        await b.loop.settle()
        assert b.answered == [1]
        await b.release(b"slow1")
        assert b.answered == [1, 2, 3]
        assert b.world.plugin.open == 1
        await b.release(b"slow2")
        assert b.answered == [1, 2, 3, 4, 5]

    async def test_a_client_that_is_ahead_is_not_read_from(self, b: Bench) -> None:
        b.send(query("slow.", 1))
        assert not b.transport.is_reading()
        await b.release(b"slow")
        assert b.transport.is_reading()
        b.send(query("a.", 2))
        assert b.transport.is_reading()
        assert b.answered == [1, 2]

    async def test_a_client_that_does_not_read_gets_no_further_answers(self, b: Bench) -> None:
        b.connection.pause_writing()
        b.send(query("a.", 1), query("a.", 2))
        assert b.answered == []
        assert b.world.plugin.seen == []
        assert not b.transport.is_reading()
        b.connection.resume_writing()
        assert b.answered == [1, 2]
        assert b.transport.is_reading()

    async def test_a_fault_of_a_plugin_is_answered_and_counted(self, b: Bench) -> None:
        b.send(query("fail.", 1), query("a.", 2))
        await b.loop.settle()
        assert b.answered == [1, 2]

    async def test_with_debug_a_fault_ends_the_connection(self, b: Bench) -> None:
        faults: list[str] = []
        b.loop.set_exception_handler(lambda _, context: faults.append(str(context["exception"])))
        b.world.server.debug = True
        b.send(query("fail.", 1), query("a.", 2))
        await b.loop.settle()
        assert b.transport.state == "aborted"
        assert not b.listener.connections
        assert faults == ["a fault of a plugin"]

    async def test_a_client_that_went_away(self, b: Bench) -> None:
        b.send(query("slow.", 1), query("a.", 2))
        await b.loop.settle()
        b.connection.connection_lost(ConnectionResetError())
        await b.release(b"slow")
        assert b.answered == []
        assert not b.world.server.waiting
        assert not b.listener.connections


class TestTimeouts:
    async def test_without_a_first_query(self, b: Bench) -> None:
        """S01: connections that say nothing were kept for ever."""
        await b.loop.advance(2.9)
        assert b.transport.state == "open"
        await b.loop.advance(0.2)
        assert b.transport.state == "half closed"

    async def test_a_query_that_never_gets_whole(self, b: Bench) -> None:
        """S01"""
        for byte in stream(query())[:-1][:8]:
            b.connection.data_received(bytes([byte]))
            await b.loop.advance(0.5)
        assert b.transport.state != "open"

    async def test_silence_after_a_query(self, b: Bench) -> None:
        await b.loop.advance(2)
        for n in range(4):
            b.send(query("a.", n))
            await b.loop.advance(9.9)
            assert b.transport.state == "open"
        await b.loop.advance(0.2)
        assert b.transport.state == "half closed"
        assert b.answered == [0, 1, 2, 3]

    async def test_they_can_be_set(self, b: Bench) -> None:
        """B146: two seconds for a query could not be changed, too few for slow links."""
        b.use(idle=100.0)
        b.send(query())
        await b.loop.advance(99)
        assert b.transport.state == "open"
        await b.loop.advance(2)
        assert b.transport.state == "half closed"

    async def test_silence_may_be_allowed_for_less_time_than_the_first_query_takes(self, b: Bench) -> None:
        b.use(idle=1.0, read=60.0)
        transport = FakeTransport()
        connection = b.connect(transport)
        await b.loop.advance(50)
        assert transport.state == "open"
        connection.data_received(stream(query("a.", 1)))
        await b.loop.advance(0.9)
        assert transport.state == "open"
        await b.loop.advance(0.2)
        assert transport.state == "half closed"

    async def test_a_query_that_waits_is_no_silence(self, b: Bench) -> None:
        b.send(query("slow.", 1))
        for _ in range(5):
            await b.loop.advance(9)
        await b.release(b"slow")
        assert b.answered == [1]
        await b.loop.advance(9)
        assert b.transport.state == "open"

    async def test_half_closed_it_reads_on_until_the_client_closes(self, b: Bench) -> None:
        """B146: closing with a query unread resets the connection."""
        await b.loop.advance(4)
        assert b.transport.state == "half closed"
        assert b.transport.is_reading()
        b.send(query("a.", 1))  # it was on its way: thrown away, and no reset
        assert b.transport.written == b""
        b.connection.eof_received()
        assert b.transport.state == "closed"
        await b.loop.settle()
        assert not b.listener.connections

    async def test_half_closed_it_does_not_wait_for_ever(self, b: Bench) -> None:
        await b.loop.advance(4)
        await b.loop.advance(1.1)
        assert b.transport.state == "aborted"
        assert not b.listener.connections

    async def test_a_transport_without_half_close_closes(self, b: Bench) -> None:
        transport = FakeTransport(half_close=False)
        b.connect(transport)
        await b.loop.advance(4)
        assert transport.state == "closed"

    async def test_a_client_that_takes_nothing_of_its_answers(self, b: Bench) -> None:
        """S01"""
        b.use(idle=3600.0)
        b.send(query("a.", 1))
        await b.loop.advance(30)
        b.transport.unsent = 100_000
        b.connection.pause_writing()
        b.send(query("a.", 2))
        await b.loop.advance(4.9)
        assert b.transport.state == "open"
        await b.loop.advance(0.2)
        assert b.transport.state == "aborted"
        assert not b.listener.connections

    async def test_a_client_that_takes_its_answers_slowly(self, b: Bench) -> None:
        b.send(query("a.", 1))
        b.connection.pause_writing()
        for left in range(20, 0, -1):
            b.transport.unsent = left * 10_000
            await b.loop.advance(4.9)
            assert b.transport.state == "open"
        b.transport.unsent = 0
        b.connection.resume_writing()
        b.send(query("a.", 2))
        assert b.answered == [1, 2]


class TestEnd:
    async def test_a_client_that_sends_no_more_is_answered_first(self, b: Bench) -> None:
        b.send(query("slow.", 1), query("a.", 2))
        b.connection.eof_received()
        await b.loop.settle()
        assert b.transport.state == "open"
        await b.release(b"slow")
        assert b.answered == [1, 2]
        assert b.transport.state == "closed"

    async def test_an_idle_one_is_closed_at_once(self, b: Bench) -> None:
        b.send(query("a.", 1))
        b.connection.eof_received()
        assert b.transport.state == "closed"

    async def test_the_limit_of_queries_closes_behind_an_answer(self, b: Bench) -> None:
        """B147: without a limit a client's load stayed on one replica for ever."""
        b.use(max_queries=3)
        b.send(query("a.", 1), query("a.", 2))
        assert b.transport.state == "open"
        b.send(query("a.", 3), query("a.", 4))
        assert b.answered == [1, 2, 3]
        assert b.transport.state == "half closed"
        assert len(b.world.plugin.seen) == 3

    @pytest.mark.parametrize("limit", [1, 2])
    async def test_the_limit_counts_queries_that_wait(self, b: Bench, limit: int) -> None:
        """B147: never between a query and its answer."""
        b.use(max_queries=limit)
        b.send(*(query("a.", n) for n in range(1, limit)), query("slow.", limit), query("a.", 9))
        await b.loop.settle()
        assert b.transport.state == "open"
        await b.release(b"slow")
        assert b.answered == list(range(1, limit + 1))
        assert b.transport.state == "half closed"


class TestListener:
    async def test_one_too_many_takes_the_place_of_the_oldest_idle_one(self, b: Bench) -> None:
        """S01"""
        b.send(query("slow.", 1))
        idle, idle_too, newest = FakeTransport(), FakeTransport(), FakeTransport()
        b.connect(idle)
        b.connect(idle_too)
        connection = b.connect(newest)
        assert [t.state for t in (b.transport, idle, idle_too, newest)] == ["open", "aborted", "open", "open"]
        connection.data_received(stream(query("a.", 5)))
        assert numbers(newest.written) == [5]
        assert b.world.dropped("connections") == 1

    async def test_if_all_are_busy_the_newest_goes(self, b: Bench) -> None:
        b.send(query("slow.", 1))
        for _ in range(2):
            b.connect(FakeTransport()).data_received(stream(query("slow.", 1)))
        newest = FakeTransport()
        b.connect(newest)
        assert newest.state == "aborted"
        assert len(b.listener.connections) == 3
        await b.release(b"slow")
        assert b.answered == [1]

    async def test_close_answers_and_closes_all(self, b: Bench) -> None:
        idle = FakeTransport()
        b.connect(idle)
        b.send(query("slow.", 1), query("a.", 2))
        closing = asyncio.ensure_future(b.listener.close())
        await b.loop.settle()
        assert idle.state == "closed"
        assert b.transport.state == "open"
        late = FakeTransport()
        b.connect(late)
        assert late.state == "aborted"
        await b.release(b"slow")
        await closing
        assert b.answered == [1, 2]
        assert b.transport.state == "closed"

    async def test_close_does_not_wait_for_ever(self, b: Bench) -> None:
        b.send(query("slow.", 1))
        closing = asyncio.ensure_future(b.listener.close())
        await b.loop.settle()
        await b.loop.advance(5.1)
        await closing
        assert b.transport.state == "aborted"
        await b.release(b"slow")

    async def test_another_server_takes_over_between_two_messages(self, b: Bench) -> None:
        successor = World()
        b.send(query("slow.", 1), query("a.", 2))
        b.listener.server = successor.server
        await b.release(b"slow")
        assert b.answered == [1, 2]
        assert [request.query.id for request in b.world.plugin.seen] == [1]
        assert [request.query.id for request in successor.plugin.seen] == [2]


class TestSockets:
    async def test_what_has_arrived_is_answered_before_it_closes(self) -> None:
        """Connections in the accept queue too."""
        world = World()
        listener = TcpListener(open_socket(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", "0"), world.registry)
        await listener.serve(world.server, Terms())
        clients = [socket.create_connection(listener.sock.getsockname()) for _ in range(200)]
        for client in clients:
            client.sendall(stream(query("a.", 1), query("a.", 2)))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ClockLoop)
        closing = asyncio.ensure_future(listener.close())
        await loop.settle()
        await loop.advance(0.1)
        await closing
        for client in clients:
            with client, client.makefile("rb") as file:
                assert numbers(file.read()) == [1, 2]
