"""shed: a socket that cannot keep up, here a Unix datagram socket, whose buffer a receiver that does not read fills."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.upstream import until
from waypost.dispatch.request import Address
from waypost.listeners import shedding
from waypost.listeners.shedding import Shedding
from waypost.listeners.way import Way, sent
from waypost.metrics.registry import Registry


class Inner:
    """Datagrams of the socket: what came is scripted, what is sent goes to the one client."""

    def __init__(self, sock: socket.socket, client: str) -> None:
        self._sock = sock
        self._way = Way(client, [])  # type: ignore[arg-type]
        self.came: list[bytes] = []

    def receive(self) -> list[bytes]:
        return self.came

    def client(self, number: int) -> Address:
        return self._way.client

    def way(self, number: int) -> Way:
        return self._way

    def send(self, answers: Sequence[bytes | None]) -> int:
        return self.send_later([(answer, self._way) for answer in answers if answer is not None])

    def send_later(self, answers: Sequence[tuple[bytes, Way]]) -> int:
        return sum(not sent(self._sock, answer, way) for answer, way in answers)


class World:
    def __init__(self, folder: Path) -> None:
        self.client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.client.bind(str(folder / "client"))
        self.client.setblocking(False)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.setblocking(False)
        self.sock.connect(str(folder / "client"))
        self.registry = Registry()
        self.inner = Inner(self.sock, str(folder / "client"))
        self.shedding = Shedding(self.inner, self.sock, "dns://:53", self.registry)
        self.filled = 0

    def fill(self) -> None:
        """Answers until the socket takes no more."""
        while not self.shedding._stack:
            self.shedding.send([b"early"])
            self.filled += 1

    def read(self) -> list[bytes]:
        """What the client finds waiting."""
        found = []
        while True:
            try:
                found.append(self.client.recv(100))
            except BlockingIOError:
                return found

    def dropped(self, reason: str) -> float:
        family = self.registry.counter("coredns_shed_dropped_total", "", ("server", "reason"))
        return family.labels("dns://:53", reason).value

    def close(self) -> None:
        self.shedding.close()
        self.sock.close()
        self.client.close()


@pytest.fixture
async def world(tmp_path: Path) -> Iterator[World]:  # type: ignore[misc]
    found = World(tmp_path)
    yield found
    found.close()


async def everything(world: World, count: int) -> list[bytes]:
    """So many answers as the client reads them."""
    found: list[bytes] = []

    def read() -> bool:
        found.extend(world.read())
        return len(found) >= count

    await until(read)
    return found


async def test_a_socket_that_keeps_up_sends_at_once(world: World) -> None:
    assert world.shedding.send([b"a", None, b"b"]) == 0
    assert world.shedding.send_later([(b"c", world.inner.way(0))]) == 0
    assert world.read() == [b"a", b"b", b"c"]
    world.inner.came = [b"q"]
    assert world.shedding.receive() == [b"q"]


async def test_the_newest_answer_leaves_first(world: World) -> None:
    world.fill()
    world.shedding.send([b"1", None, b"2"])
    assert world.shedding.send_later([(b"3", world.inner.way(0))]) == 0
    found = await everything(world, world.filled + 3)
    assert [answer for answer in found if answer != b"early"] == [b"3", b"2", b"1"]
    assert not world.shedding._waits
    assert (world.dropped("response"), world.dropped("query")) == (0, 0)


async def test_the_oldest_answer_is_lost_and_queries_are_dropped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.fill()
    for number in range(shedding.DEPTH + 5):
        world.shedding.send([b"%d" % number])
    assert world.dropped("response") == 6  # with the one that filled it
    world.inner.came = [b"q", b"r"]
    assert world.shedding.receive() == []
    assert world.dropped("query") == 2
    found = await everything(world, world.filled - 1 + shedding.DEPTH)
    assert [int(each) for each in found if each != b"early"] == list(range(shedding.DEPTH + 4, 4, -1))
    assert world.shedding.receive() == [b"q", b"r"]


async def test_a_client_that_is_gone_does_not_hold_up_others(world: World, tmp_path: Path) -> None:
    world.fill()
    world.shedding.send_later([(b"x", Way(str(tmp_path / "nobody"), []))])  # type: ignore[arg-type]
    world.shedding.send([b"y"])
    found = await everything(world, world.filled + 1)
    assert found.count(b"y") == 1
    assert world.dropped("response") == 1


async def test_what_waits_at_the_end_is_counted(world: World) -> None:
    world.fill()
    world.shedding.send([b"1", b"2"])
    world.shedding.close()
    assert world.dropped("response") == 3
    await asyncio.sleep(0)
    assert not world.shedding._waits
