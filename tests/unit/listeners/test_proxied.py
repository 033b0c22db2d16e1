"""Whose word is taken for who the client is: datagrams, streams, and those who mean no good."""

from __future__ import annotations

import asyncio

import pytest

from support.listening import FakeTransport, World, answer, numbers, query, stream
from support.proxying import local, v1, v2
from support.upstream import until
from waypost.corefile.networks import Networks
from waypost.dispatch.proxying import IGNORE, REJECT, SKIP, USE, ProxyPolicy
from waypost.dispatch.timeouts import Timeouts
from waypost.listeners import proxied_stream
from waypost.listeners.connection import TcpConnection
from waypost.listeners.proxied import ProxiedDatagrams, Refusals
from waypost.listeners.proxied_stream import Gate, ProxiedStream
from waypost.listeners.tcp import TcpListener
from waypost.metrics.registry import CounterFamily

PEER, CLIENT = ("192.0.2.9", 40000), ("198.51.100.7", 1234)
V6 = ("2001:db8::7", 1234, 0, 0)
TRUSTED = Networks.of(["192.0.2.0/24", "2001:db8::/32"])
FOREIGN = Networks.of(["203.0.113.0/24"])


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def drops(world: World) -> CounterFamily:
    return world.registry.counter(
        "waypost_dropped_packets_total", "Counter of packets that were dropped, by reason.", ("reason",)
    )


def datagrams(world: World, policy: ProxyPolicy, clock: Clock | None = None) -> ProxiedDatagrams:
    world.server.proxying = policy
    return ProxiedDatagrams(policy, world.server, drops(world), now=clock or Clock())


@pytest.mark.parametrize(
    ("policy", "header", "seen"),
    [
        (ProxyPolicy(default=USE), v2(*CLIENT, datagram=True), CLIENT),
        (ProxyPolicy(default=USE), v2("2001:db8::7", 1234, datagram=True), V6),
        (ProxyPolicy(default=USE), b"", PEER),
        (ProxyPolicy(default=USE), local(), PEER),
        (ProxyPolicy(TRUSTED), v2(*CLIENT, datagram=True), CLIENT),
        (ProxyPolicy(TRUSTED), b"", PEER),
        (ProxyPolicy(FOREIGN), v2(*CLIENT, datagram=True), PEER),
        (ProxyPolicy(FOREIGN, REJECT), v2(*CLIENT, datagram=True), None),
        (ProxyPolicy(FOREIGN, REJECT), b"", PEER),
        (ProxyPolicy(FOREIGN, USE), v2(*CLIENT, datagram=True), CLIENT),
        (ProxyPolicy(default=IGNORE), v2(*CLIENT, datagram=True), PEER),
        (ProxyPolicy(default=REJECT), v2(*CLIENT, datagram=True), None),
        (ProxyPolicy(default=USE), v2(*CLIENT, datagram=False), None),
        (ProxyPolicy(default=USE), v1(*CLIENT), None),
        (ProxyPolicy(default=IGNORE), local()[:12] + b"\x31\x12\0\0", None),
    ],
)
def test_datagrams(policy: ProxyPolicy, header: bytes, seen: object) -> None:
    world = World()
    found = datagrams(world, policy)
    reply = found.serve(header + query(number=7), PEER, True)
    assert [request.client for request in world.plugin.seen] == ([] if seen is None else [seen])
    assert world.dropped("proxyproto") == (seen is None)
    if seen is None:
        assert reply is None
        assert "[WARNING] dropping invalid Proxy Protocol packet from 192.0.2.9: " in world.log.getvalue()
    else:
        assert isinstance(reply, bytes)
        assert reply[:2] == b"\0\x07"


def test_a_header_that_is_not_looked_for_is_a_malformed_message() -> None:
    world = World()
    datagrams(world, ProxyPolicy(default=SKIP)).serve(v2(*CLIENT, datagram=True) + query(), PEER, True)
    assert world.plugin.seen == []
    assert world.dropped("proxyproto") == 0


def test_many_refusals_are_one_line() -> None:
    world = World()
    found = datagrams(world, ProxyPolicy(default=REJECT))
    for _ in range(100):
        found.serve(v2(*CLIENT, datagram=True) + query(), PEER, True)
    assert world.dropped("proxyproto") == 100
    assert world.log.getvalue().count("\n") == 1


def test_a_session_lasts_for_its_time_after_the_last_datagram() -> None:
    world, clock = World(), Clock()
    found = datagrams(world, ProxyPolicy(default=USE, session_seconds=28.0), clock)
    assert found.serve(v2(*CLIENT, datagram=True), PEER, True) is None
    for seconds in (20.0, 20.0, 20.0, 30.0):
        clock.now += seconds
        found.serve(query(), PEER, True)
    found.serve(query(), ("192.0.2.9", 40001), True)
    assert [request.client for request in world.plugin.seen] == [CLIENT] * 3 + [PEER, ("192.0.2.9", 40001)]


def test_a_session_begins_anew_with_each_header() -> None:
    world = World()
    found = datagrams(world, ProxyPolicy(TRUSTED, session_seconds=28.0))
    found.serve(v2(*CLIENT, datagram=True) + query(), PEER, True)
    found.serve(v2("198.51.100.8", 1, datagram=True) + query(), PEER, True)
    found.serve(query(), PEER, True)
    found.serve(local() + query(), PEER, True)
    assert [request.client for request in world.plugin.seen] == [CLIENT, *[("198.51.100.8", 1)] * 3]


def test_sessions_are_bounded_and_the_one_heard_last_stays() -> None:
    world = World()
    found = datagrams(world, ProxyPolicy(default=USE, session_seconds=28.0, max_sessions=2))
    peers = [("192.0.2.9", port) for port in (1, 2, 3)]
    for peer in peers[:2]:
        found.serve(v2(*CLIENT, datagram=True), peer, True)
    found.serve(query(), peers[0], True)
    found.serve(v2(*CLIENT, datagram=True), peers[2], True)
    for peer in peers:
        found.serve(query(), peer, True)
    assert [request.client for request in world.plugin.seen] == [CLIENT, CLIENT, peers[1], CLIENT]


def test_sessions_of_strangers_do_not_begin() -> None:
    world = World()
    found = datagrams(world, ProxyPolicy(FOREIGN, session_seconds=28.0))
    assert found.serve(v2(*CLIENT, datagram=True), PEER, True) is None
    found.serve(query(), PEER, True)
    assert [request.client for request in world.plugin.seen] == [PEER]


def test_a_reload_keeps_sessions_of_an_equal_policy() -> None:
    old, new = World(), World()
    policy = ProxyPolicy(default=USE, session_seconds=28.0)
    found = datagrams(old, policy)
    found.serve(v2(*CLIENT, datagram=True), PEER, True)
    new.server.proxying = ProxyPolicy(default=USE, session_seconds=28.0)
    kept = ProxiedDatagrams.of(new.server, drops(new), found)
    assert kept is found
    kept.serve(query(), PEER, True)
    assert [request.client for request in new.plugin.seen] == [CLIENT]
    new.server.proxying = ProxyPolicy(default=USE)
    assert ProxiedDatagrams.of(new.server, drops(new), found) is not found
    new.server.proxying = None
    assert ProxiedDatagrams.of(new.server, drops(new), found) is None


class Front:
    """A stream connection behind a gate."""

    def __init__(self, policy: ProxyPolicy, *, seconds: float = 3.0, gate: Gate | None = None) -> None:
        self.world = World()
        self.gate = gate or Gate(policy, Refusals(self.world.server.log, drops(self.world)), seconds)
        self.owner = TcpListener.__new__(TcpListener)
        self.owner.server = self.world.server
        self.owner.timeouts = Timeouts()
        self.owner.connections = {}
        self.owner._limit = 10
        self.owner._empty = None
        self.stream = ProxiedStream(TcpConnection(self.owner), self.gate)
        self.transport = FakeTransport()
        self.transport.connect(self.stream)

    @property
    def clients(self) -> list[object]:
        return [request.client for request in self.world.plugin.seen]


@pytest.mark.parametrize(
    ("policy", "header", "seen"),
    [
        (ProxyPolicy(default=USE), v1(*CLIENT), CLIENT),
        (ProxyPolicy(default=USE), v1("2001:db8::7", 1234), V6),
        (ProxyPolicy(default=USE), v2(*CLIENT, datagram=False), CLIENT),
        (ProxyPolicy(default=USE), b"PROXY UNKNOWN\r\n", PEER),
        (ProxyPolicy(default=USE), local(), PEER),
        (ProxyPolicy(default=USE), b"", PEER),
        (ProxyPolicy(TRUSTED), v1(*CLIENT), CLIENT),
        (ProxyPolicy(FOREIGN), v1(*CLIENT), PEER),
        (ProxyPolicy(FOREIGN, REJECT), b"", PEER),
        (ProxyPolicy(FOREIGN, SKIP), b"", PEER),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_streams(policy: ProxyPolicy, header: bytes, seen: object, size: int) -> None:
    front = Front(policy)
    data = header + stream(query(number=1), query("b.", number=2))
    for start in range(0, len(data), size):
        front.stream.data_received(data[start : start + size])
    assert front.clients == [seen, seen]
    assert numbers(front.transport.written) == [1, 2]
    assert front.gate.waiting == {}
    front.transport.abort()
    await asyncio.sleep(0)
    assert front.owner.connections == {}


@pytest.mark.parametrize(
    ("policy", "header"),
    [
        (ProxyPolicy(default=REJECT), v1(*CLIENT)),
        (ProxyPolicy(FOREIGN, REJECT), v2(*CLIENT, datagram=False)),
        (ProxyPolicy(default=USE), b"PROXY TCP4 192.0.2.9\r\n"),
        (ProxyPolicy(default=IGNORE), b"PROXY TCP4 " + b"x" * 200),
    ],
)
async def test_streams_that_are_refused(policy: ProxyPolicy, header: bytes) -> None:
    front = Front(policy)
    front.stream.data_received(header + stream(query()))
    front.stream.data_received(stream(query()))
    await asyncio.sleep(0)
    assert front.transport.state == "aborted"
    assert front.clients == []
    assert front.world.dropped("proxyproto") == 1
    assert "dropping invalid Proxy Protocol packet from 192.0.2.9: " in front.world.log.getvalue()
    assert front.gate.waiting == {}


async def test_a_header_that_does_not_come_to_an_end_costs_three_seconds_at_most() -> None:
    front = Front(ProxyPolicy(default=USE), seconds=0.01)
    front.stream.data_received(b"PROXY TCP4")
    await until(lambda: front.transport.state == "aborted")
    assert front.gate.waiting == {}


async def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxied_stream, "_MAX_WAITING", 2)
    first = Front(ProxyPolicy(default=USE))
    others = [Front(first.gate.policy, gate=first.gate) for _ in range(2)]
    assert first.transport.state == "aborted"
    assert [other.transport.state for other in others] == ["open", "open"]
    first.gate.close()
    assert {other.transport.state for other in others} == {"aborted"}


async def test_who_goes_before_its_header_is_forgotten() -> None:
    front = Front(ProxyPolicy(default=USE))
    assert front.stream.eof_received() is None
    front.transport.close()
    await asyncio.sleep(0)
    assert front.gate.waiting == {}
    assert front.clients == []


def test_answers_are_those_of_the_plugin() -> None:
    world = World()
    reply = datagrams(world, ProxyPolicy(default=USE)).serve(v2(*CLIENT, datagram=True) + query(), PEER, True)
    assert isinstance(reply, bytes)
    assert len(answer(world.plugin.seen[0]).answer) == 1
