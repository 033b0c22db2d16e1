"""Datagrams over real sockets of loopback."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import warnings
from collections.abc import AsyncIterator

import dns.message
import pytest

from support.listening import World, query, response
from waypost.dispatch.ahead import Journey
from waypost.listeners import sockets, udp
from waypost.listeners.datagrams import Way
from waypost.listeners.sockets import open_socket
from waypost.listeners.udp import UdpListener
from waypost.metrics.registry import Counter

HOSTS = ["127.0.0.1", "0.0.0.0", "::1", "::"]


class Bench:
    """A listener on a free port of `host`, its world, and a client at the loopback address of that family."""

    def __init__(self, host: str) -> None:
        self.world = World(host)
        v6 = ":" in host
        family = socket.AF_INET6 if v6 else socket.AF_INET
        self.listener = UdpListener(open_socket(family, socket.SOCK_DGRAM, host, "0"), self.world.registry)
        self.port = self.listener.sock.getsockname()[1]
        self.address = ("::1" if v6 else "127.0.0.1", self.port)
        self.client = socket.socket(family, socket.SOCK_DGRAM)
        self.client.setblocking(False)
        self.client.bind((self.address[0], 0))

    def serve(self) -> None:
        self.listener.serve(self.world.server)

    def send(self, *wires: bytes, to: str = "") -> None:
        for wire in wires:
            self.client.sendto(wire, (to or self.address[0], self.port))

    async def receive(self) -> tuple[int, str]:
        """The next answer's id, and the address it came from."""
        async with asyncio.timeout(2):
            wire, peer = await asyncio.get_running_loop().sock_recvfrom(self.client, 4096)
        message = dns.message.from_wire(wire)
        assert message.answer
        return message.id, peer[0]

    async def answered(self, count: int) -> list[int]:
        return [(await self.receive())[0] for _ in range(count)]

    def nothing_more(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            return not self.client.recv(4096)
        return True

    def missed(self) -> float:
        """What a scrape shows of packets that the kernel dropped."""
        family = self.world.registry.collect()["waypost_udp_receive_drops_total"]
        cell = family.cell((self.world.server.label,))
        assert isinstance(cell, Counter)
        return cell.value

    async def release(self, name: bytes) -> None:
        self.world.plugin.waiting[name].set()
        await turns(5)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture(params=HOSTS)
async def b(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    bench = Bench(request.param)
    bench.serve()
    yield bench
    bench.client.close()
    for event in bench.world.plugin.waiting.values():
        event.set()
    if bench.listener.sock.fileno() != -1:
        await bench.listener.close()


only_bound = pytest.mark.parametrize("b", ["127.0.0.1"], indirect=True)
both_ways = pytest.mark.parametrize("b", ["127.0.0.1", "0.0.0.0"], indirect=True)


class TestAnswers:
    async def test_at_once_and_later(self, b: Bench) -> None:
        b.send(query("slow.", 1), query("a.", 2))
        assert await b.receive() == (2, b.address[0])
        await b.release(b"slow")
        assert await b.receive() == (1, b.address[0])
        assert not b.world.server.waiting

    @pytest.mark.parametrize("name", ["a.", "slow."])
    @pytest.mark.parametrize("b", ["0.0.0.0"], indirect=True)
    async def test_they_leave_from_the_address_asked(self, b: Bench, name: str) -> None:
        for number, host in enumerate(("127.0.0.2", "127.0.0.1", "127.0.0.3")):
            b.send(query(name, number), to=host)
            if name == "slow.":
                await turns(5)
                await b.release(b"slow")
            assert await b.receive() == (number, host)

    @pytest.mark.parametrize("b", ["0.0.0.0", "::"], indirect=True)
    async def test_what_came_before_it_served_too(self, b: Bench) -> None:
        early = Bench(b.world.server.host)
        host = "127.0.0.2" if early.world.server.host == "0.0.0.0" else "::1"
        early.send(query("a.", 7), to=host)
        early.serve()
        assert await early.receive() == (7, host)
        await early.listener.close()
        early.client.close()

    @both_ways
    async def test_only_queries(self, b: Bench) -> None:
        b.send(b"", b"\0" * 11, response(1), response(2)[:12], query("drop.", 3), query("a.", 4))
        assert await b.answered(1) == [4]
        assert b.nothing_more()
        assert len(b.world.plugin.seen) == 2

    @both_ways
    async def test_a_fault_of_a_plugin_costs_one_answer(self, b: Bench) -> None:
        b.send(query("fail.", 1), query("a.", 2))
        assert await b.answered(1) == [2]

    @both_ways
    async def test_another_server_takes_over_between_two_packets(self, b: Bench) -> None:
        successor = World()
        b.send(query("slow.", 1))
        await turns(5)
        b.listener.serve(successor.server)
        b.send(query("a.", 2))
        assert await b.answered(1) == [2]
        await b.release(b"slow")
        assert await b.answered(1) == [1]
        assert [request.query.id for request in successor.plugin.seen] == [2]


class TestBounds:
    @both_ways
    async def test_at_most_64_in_a_turn(self, b: Bench) -> None:
        b.send(*(query("a.", n) for n in range(100)))
        seen = []
        while len(b.world.plugin.seen) < 100:
            before = len(b.world.plugin.seen)
            await asyncio.sleep(0)
            seen.append(len(b.world.plugin.seen) - before)
        assert [count for count in seen if count] == [64, 36]
        assert await b.answered(100) == list(range(100))

    @both_ways
    async def test_a_flood_of_queries_that_wait(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """B172: each took a place in memory, without bound, until the process died."""
        monkeypatch.setattr(udp, "_MAX_WAITING", 50)
        for start in range(0, 200, 20):
            b.send(*(query("slow.", n) for n in range(start, start + 20)))
            await turns(5)
        assert b.world.plugin.open == 50
        assert len(b.world.server.waiting) == 50
        assert b.world.dropped("overload") == 150
        b.send(query("a.", 1000))
        assert await b.answered(1) == [1000]  # answers from memory go on
        await b.release(b"slow")
        assert sorted(await b.answered(50)) == list(range(50))
        b.send(query("slow.", 2000))
        assert await b.answered(1) == [2000]
        assert b.world.dropped("overload") == 150

    @only_bound
    async def test_dropping_warns_of_nothing(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(udp, "_MAX_WAITING", 0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            b.send(query("slow.", 1), query("a.", 2))
            assert await b.answered(1) == [2]
        assert caught == []


class Road:
    """Queries that go ahead of the chain, and come back when it is said, with a reply or with nothing to say."""

    plugin = object()
    data = b""
    end = 0

    def __init__(self, bench: Bench, *, there: bool = True) -> None:
        self.there = there
        self.journeys: list[Journey] = []
        for memo in bench.world.server.memos:
            memo.send_ahead(query("a0.org."), self, ())

    def send(self, journey: Journey) -> bool:
        if self.there:
            self.journeys.append(journey)
        return self.there

    def given(self) -> object:
        return "given"

    async def back(self) -> None:
        for journey in self.journeys:
            journey.returned(self)
        self.journeys.clear()
        await turns(2)


class TestQueriesThatGoAhead:
    async def test_the_chain_is_asked_when_they_are_back(self, b: Bench) -> None:
        road = Road(b)
        b.send(*(query(f"a{n}.org.", n) for n in range(3)), query("a.org.", 3))
        assert await b.answered(1) == [3]  # of another family: its first label has another length
        assert ([request.given for request in b.world.plugin.seen], len(b.world.server.waiting)) == ([None], 3)
        await road.back()
        assert [await b.receive() for _ in range(3)] == [(n, b.address[0]) for n in range(3)]
        assert [request.given for request in b.world.plugin.seen[1:]] == ["given"] * 3
        assert {request.client[:2] for request in b.world.plugin.seen} == {b.client.getsockname()[:2]}
        assert not b.world.server.waiting

    @pytest.mark.parametrize("b", ["0.0.0.0"], indirect=True)
    async def test_answers_leave_from_the_address_asked(self, b: Bench) -> None:
        road = Road(b)
        b.send(query("a1.org.", 1), to="127.0.0.2")
        await turns(5)
        await road.back()
        assert await b.receive() == (1, "127.0.0.2")

    @both_ways
    async def test_a_road_that_is_closed(self, b: Bench) -> None:
        Road(b, there=False)
        b.send(query("a1.org.", 1))
        assert await b.answered(1) == [1]
        assert not b.world.server.waiting

    @both_ways
    async def test_a_chain_that_must_wait_then(self, b: Bench) -> None:
        road = Road(b)
        for memo in b.world.server.memos:
            memo.send_ahead(query("slow.org."), road, ())
        b.send(query("slow.org.", 1))
        await turns(5)
        await road.back()
        assert len(b.world.server.waiting) == 1
        await b.release(b"slow")
        assert await b.answered(1) == [1]
        assert not b.world.server.waiting

    @both_ways
    async def test_another_server_meanwhile(self, b: Bench) -> None:
        road, successor = Road(b), World()
        b.send(query("a1.org.", 1))
        await turns(5)
        b.listener.serve(successor.server)
        await road.back()
        assert await b.answered(1) == [1]
        assert (len(b.world.plugin.seen), successor.plugin.seen) == (1, [])

    @both_ways
    async def test_closing_waits_for_them(self, b: Bench) -> None:
        road = Road(b)
        b.send(query("a1.org.", 1))
        closing = asyncio.ensure_future(b.listener.close())
        await turns(5)
        assert not closing.done()
        await road.back()
        await closing
        assert await b.answered(1) == [1]

    @both_ways
    async def test_not_too_many_at_a_time(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(udp, "_MAX_WAITING", 2)
        road = Road(b)
        b.send(*(query(f"a{n}.org.", n) for n in range(4)))
        assert await b.answered(2) == [2, 3]  # through the chain, which may have the answer at hand
        await road.back()
        assert await b.answered(2) == [0, 1]

    @both_ways
    async def test_a_fault_on_the_way_back(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing waits for ever for it."""
        road = Road(b)
        b.send(query("a1.org.", 1))
        await turns(5)
        b.world.server.debug = True
        monkeypatch.setattr(b.world.plugin, "serve", None)
        with pytest.raises(TypeError):
            await road.back()
        assert not b.world.server.waiting


class TestErrors:
    async def test_a_client_whose_port_is_closed(self, b: Bench) -> None:
        """The kernel may tell us of its ICMP errors at any later call."""
        for name in ("a.", "slow."):
            gone = socket.socket(b.client.family, socket.SOCK_DGRAM)
            for n in range(40):
                gone.sendto(query(name, n), b.address)
            gone.close()
            await turns(5)
            if name == "slow.":
                await b.release(b"slow")
            b.send(query("a.", 1))
            assert await b.answered(1) == [1]

    @both_ways
    async def test_answers_that_cannot_be_sent(self, b: Bench) -> None:
        b.listener.sock.close()
        b.listener._datagrams = Broken([query("a.", 1), query("slow.", 2), query("a.", 3)])  # type: ignore[assignment]
        assert b.listener._drain() is False
        assert len(b.world.plugin.seen) == 3
        assert b.world.dropped("socket") == 2
        await turns(2)
        await b.release(b"slow")
        assert b.world.dropped("socket") == 3


class TestReceiveDrops:
    async def test_what_the_kernel_dropped_is_counted(self, b: Bench) -> None:
        """B170: queries that the receive buffer had no room for were missing without a trace."""
        b.listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        b.send(*(query("a.", n) for n in range(50)))
        await turns(5)
        missed = 50 - len(b.world.plugin.seen)
        assert missed > 0
        assert b.missed() == b.missed() == missed
        b.send(*(query("a.", n) for n in range(50)))  # what comes while it closes counts too
        await b.listener.close()
        assert b.missed() == 100 - len(b.world.plugin.seen)

    @only_bound
    async def test_the_count_goes_to_the_server_that_has_the_socket(self, b: Bench) -> None:
        """B170: over reloads nothing is counted twice."""
        b.listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        b.send(*(query("a.", n) for n in range(50)))
        await turns(5)
        missed = b.missed()
        b.listener.serve(World("127.0.0.1").server)
        assert b.missed() == missed

    @only_bound
    async def test_a_kernel_that_does_not_tell(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sockets, "_SO_MEMINFO", 9999)
        assert b.missed() == 0


class Broken:
    """Receives these packets, then nothing; sends none, because the buffer is full."""

    def __init__(self, wires: list[bytes]) -> None:
        self._wires = wires

    def receive(self) -> list[bytes]:
        wires, self._wires = self._wires, []
        return wires

    def client(self, number: int) -> tuple[str, int]:
        return "192.0.2.9", 40000 + number

    def way(self, number: int) -> Way:
        return Way(self.client(number), [])

    def send(self, answers: list[bytes | None]) -> int:
        return sum(answer is not None for answer in answers)

    def send_later(self, answers: list[tuple[bytes, Way]]) -> int:
        return len(answers)


class TestClose:
    @both_ways
    async def test_what_has_arrived_is_answered(self, b: Bench) -> None:
        b.send(*(query("a.", n) for n in range(100)), query("slow.", 100))
        closing = asyncio.ensure_future(b.listener.close())
        assert await b.answered(100) == list(range(100))
        await b.release(b"slow")
        assert await b.answered(1) == [100]
        await closing

    @only_bound
    async def test_it_ends_however_much_arrives(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(udp, "_LAST_TURNS", 3)
        b.send(*(query("a.", n) for n in range(200)))
        await b.listener.close()
        assert len(b.world.plugin.seen) == 192

    @only_bound
    async def test_it_does_not_wait_for_ever(self, b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(udp, "_DRAIN_SECONDS", 0.01)
        b.send(query("slow.", 1))
        await b.listener.close()
        await b.release(b"slow")
        assert b.world.dropped("socket") == 1

    async def test_one_that_never_served(self) -> None:
        bench = Bench("127.0.0.1")
        await bench.listener.close()
        assert bench.listener.sock.fileno() == -1
        bench.client.close()
