"""Connections to receivers and from receivers: real sockets, and receivers that are away, slow, or something else."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.chain import FakeProcess
from support.dnstap import ACCEPT, Receiver, receiving
from support.tree import ROOT
from support.upstream import until
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.certificates import server_context
from waypost.plugins.dnstap import outlet, sink, stream
from waypost.plugins.dnstap.listening import Listening
from waypost.plugins.dnstap.outlet import Drops
from waypost.plugins.dnstap.payload import CLIENT_QUERY, UDP, Envelope, Event, encode_event
from waypost.plugins.dnstap.place import Place, parse_place
from waypost.plugins.dnstap.sink import Sink

KEYS = ROOT / "tests/data/kube-tls"
CA = str(KEYS / "ca.pem")
SERVER, CLIENT = ((str(KEYS / f"{name}.pem"), str(KEYS / f"{name}.key")) for name in ("server", "client"))
ENVELOPE = Envelope(b"", b"")


def payload(number: int, size: int = 0) -> bytes:
    """One that carries a number."""
    return ENVELOPE.wrap(encode_event(Event(CLIENT_QUERY, UDP, number * 10**9, query=bytes(size))))


def numbers(receiver: Receiver) -> list[int]:
    return [message.query_time_sec for message in receiver.messages()]


class World:
    """A process, and sinks with its metrics and its log."""

    def __init__(self) -> None:
        self.process = FakeProcess()
        self.counter = self.process.metrics.counter("dropped", "").labels()
        log = self.process.services().log
        self.how = {"buffer": 65536, "drops": Drops(self.counter, log), "log": log}

    def sink(self, text: str, tls: ssl.SSLContext | None = None, limit: int = 100) -> Sink:
        return Sink(parse_place(text), tls, limit=limit, **self.how)  # type: ignore[arg-type]

    def listening(self, text: str, tls: ssl.SSLContext | None = None, limit: int = 100) -> Listening:
        return Listening(parse_place(text), lambda: tls, limit=limit, **self.how)  # type: ignore[arg-type]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(sink, "_PAUSES", (0.01,))
    monkeypatch.setattr(stream, "_GATHER_SECONDS", 0.0)
    return World()


@pytest.fixture
async def receiver(tmp_path: Path) -> AsyncIterator[Receiver]:
    async with receiving(tmp_path / "sock") as found:
        yield found


async def test_frames_arrive_in_order_and_the_end_is_told(world: World, receiver: Receiver, tmp_path: Path) -> None:
    tap = world.sink(str(tmp_path / "sock"))
    tap.send(payload(0))
    await tap.start()
    await tap.start()
    for number in range(1, 50):
        tap.send(payload(number))
    await until(lambda: len(receiver.got) == 50)
    tap.send(payload(50))
    await tap.close()
    await until(lambda: receiver.finished == 1)
    assert numbers(receiver) == list(range(51))
    assert receiver.connections == 1
    assert world.counter.value == 0


async def test_a_receiver_that_comes_later(world: World, tmp_path: Path) -> None:
    path = tmp_path / "sock"
    tap = world.sink(f"unix://{path}", limit=5)
    await tap.start()
    await until(lambda: bool(world.process.lines))
    for number in range(8):
        if tap.wants():
            tap.send(payload(number))
    assert world.counter.value == 3
    async with receiving(path) as receiver:
        await until(lambda: len(receiver.got) == 5)
        assert numbers(receiver) == [0, 1, 2, 3, 4]
        await tap.close()
    assert len(world.process.lines) == 1, "only the first of many failures is logged"
    assert world.process.lines[0].startswith(f"[ERROR] No connection to dnstap endpoint: unix://{path}: ")


async def test_a_receiver_that_goes_and_comes_back(world: World, receiver: Receiver, tmp_path: Path) -> None:
    tap = world.sink(str(tmp_path / "sock"))
    await tap.start()
    tap.send(payload(0))
    await until(lambda: len(receiver.got) == 1)
    receiver.hang_up()
    await asyncio.sleep(0.05)
    tap.send(payload(1))
    await until(lambda: receiver.connections == 2)
    tap.send(payload(2))
    await until(lambda: 2 in numbers(receiver))
    assert world.counter.value == 3 - len(receiver.got) == 1
    await tap.close()


async def test_a_receiver_that_does_not_read_costs_nobody_time(
    world: World, receiver: Receiver, tmp_path: Path
) -> None:
    tap = world.sink(str(tmp_path / "sock"), limit=10)
    await tap.start()
    receiver.read.clear()
    sent = 0
    while world.counter.value < 20:
        if tap.wants():
            tap.send(payload(sent, 20_000))
            sent += 1
        await asyncio.sleep(0)
    assert tap.wants() is False
    receiver.read.set()
    await until(lambda: len(receiver.got) == sent)
    await tap.close()


@pytest.mark.parametrize(
    ("accept", "complaint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "expected a control frame"),
        (ACCEPT[:11] + b"\x02" + ACCEPT[12:], "expected ACCEPT"),
        (ACCEPT.replace(b"dnstap.Dnstap", b"other.Message"), "the receiver does not take protobuf:dnstap.Dnstap"),
        (b"\0\0\0\0\0\0\0\x0c\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff", "control frame cut short"),
        (None, "timed out"),
    ],
)
async def test_something_else_at_the_other_end(
    world: World, tmp_path: Path, accept: bytes | None, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_HANDSHAKE_SECONDS", 0.05)
    other = Receiver(accept)
    server = await other.on_unix(tmp_path / "sock")
    tap = world.sink(str(tmp_path / "sock"))
    await tap.start()
    await until(lambda: other.connections >= 3)
    await tap.close()
    server.close()
    other.hang_up()
    assert world.process.lines == [f"[ERROR] No connection to dnstap endpoint: unix://{tmp_path}/sock: {complaint}"]


@pytest.mark.parametrize(("text", "complaint"), [
    ("tcp://127.0.0.1", "address 127.0.0.1: missing port in address"),
    ("tcp://127.0.0.1:x", "address x: invalid port"),
])  # fmt: skip
async def test_an_address_that_is_none(world: World, text: str, complaint: str) -> None:
    tap = world.sink(text)
    await tap.start()
    await until(lambda: bool(world.process.lines))
    await tap.close()
    assert world.process.lines == [f"[ERROR] No connection to dnstap endpoint: {text}: {complaint}"]


async def test_drops_are_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet, "_REPORT_SECONDS", 0.01)
    drops = world.how["drops"]
    assert isinstance(drops, Drops)
    for _ in range(3):
        drops.add(2)
    await until(lambda: bool(world.process.lines))
    drops.add()
    await until(lambda: len(world.process.lines) == 2)
    assert world.process.lines == [f"[WARNING] Dropped dnstap messages: {n}" for n in (6, 1)]
    assert world.counter.value == 7


async def test_over_tcp_and_tls(world: World) -> None:
    trusting = client_context()
    for tls, context in ((None, None), (server_context(TlsSettings(*SERVER)), trusting)):
        receiver = Receiver()
        server = await receiver.on_tcp(0, tls)
        port = server.sockets[0].getsockname()[1]
        scheme = "tcp" if tls is None else "tls"
        tap = world.sink(f"{scheme}://localhost:{port}", context)
        await tap.start()
        tap.send(payload(1))
        await until(lambda receiver=receiver: numbers(receiver) == [1])
        await tap.close()
        server.close()


def client_context() -> ssl.SSLContext:
    """Trusts the CA; the certificate is for another name."""
    context = ssl.create_default_context(cafile=CA)
    context.check_hostname = False
    return context


async def follow(where: Place, receiver: Receiver, tls: ssl.SSLContext | None = None) -> asyncio.Task[None]:
    """Connect as a receiver."""
    if where.scheme == "unix":
        streams = await asyncio.open_unix_connection(where.target)
    else:
        streams = await asyncio.open_connection(*where.host_port(), ssl=tls)
    return asyncio.create_task(receiver.receive(*streams))


async def test_receivers_that_connect(world: World, tmp_path: Path) -> None:
    where = parse_place(str(tmp_path / "sock"))
    tap = world.listening(where.target)
    await tap.start()
    assert not tap.wants()
    first, second = Receiver(), Receiver()
    await follow(where, first)
    await until(tap.wants)
    tap.send(payload(1))
    task = await follow(where, second)
    await until(lambda: len(tap._queues) == 2)
    tap.send(payload(2))
    await until(lambda: numbers(first) == [1, 2] and numbers(second) == [2])
    second.hang_up()
    await task
    await asyncio.sleep(0.05)
    tap.send(payload(3))
    await until(lambda: len(tap._queues) == 1)
    tap.send(payload(4))
    await tap.close()
    await until(lambda: first.finished == 1)
    assert numbers(first) == [1, 2, 3, 4]
    assert world.counter.value == 1
    assert not await asyncio.to_thread(Path(where.target).exists)


async def test_a_slow_receiver_is_the_only_one_that_loses(world: World, tmp_path: Path) -> None:
    where = parse_place(str(tmp_path / "sock"))
    tap = world.listening(where.target, limit=10)
    await tap.start()
    quick, slow = Receiver(), Receiver()
    slow.read.clear()
    for each in (quick, slow):
        await follow(where, each)
    await until(lambda: len(tap._queues) == 2)
    sent = 0
    while world.counter.value < 5:
        tap.send(payload(sent, 20_000))
        sent += 1
        await until(lambda sent=sent: len(quick.got) == sent)
    assert numbers(quick) == list(range(sent))
    slow.hang_up()
    slow.read.set()
    await tap.close()


async def test_receivers_over_tls_show_a_certificate(world: World) -> None:
    tap = world.listening("tls://127.0.0.1:0", server_context(TlsSettings(*SERVER, CA, "require_and_verify")))
    await tap.start()
    where = Place("tls", f"localhost:{tap.port}")
    context = client_context()
    refused = Receiver()
    await follow(where, refused, context)
    await until(lambda: bool(refused.connections))
    context.load_cert_chain(*CLIENT)
    receiver = Receiver()
    await follow(where, receiver, context)
    await until(tap.wants)
    tap.send(payload(1))
    await until(lambda: numbers(receiver) == [1])
    await tap.close()
    assert refused.got == []


async def test_an_address_that_cannot_be_had(world: World, tmp_path: Path) -> None:
    tap = world.listening(str(tmp_path / "nowhere/sock"))
    await tap.start()
    await tap.close()
    assert len(world.process.lines) == 1
    assert world.process.lines[0].startswith(
        f"[ERROR] Failed to start dnstap listener: unix://{tmp_path}/nowhere/sock: "
    )
