"""UDP to one upstream."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress

import dns.message
import dns.rrset
import pytest

from support.chain import make_wire
from support.upstream import (
    Asked,
    ScriptedUpstream,
    Send,
    Step,
    Wait,
    closed_port,
    good,
    reply,
    silent,
    then_good,
    until,
)
from waypost.metrics.registry import Counter
from waypost.toolkit import mmsg, upstream_udp
from waypost.toolkit.inflight import MessageIds
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import Busy, UpstreamError
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_reply import query_tail
from waypost.toolkit.upstream_udp import DatagramAsker, UdpSockets
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import parse_query


def sockets_to(port: int, *, timeout: float = 2.0, expire: float = 10.0, source: str = "") -> UdpSockets:
    cache = SocketCache(Counter(), Counter())
    return UdpSockets(UpstreamAddress("127.0.0.1", port), timeout, expire, source, MessageIds(), cache)


async def ask(sockets: UdpSockets, name: str = "example.org.") -> Message:
    query = parse_query(make_wire(name))
    return await sockets.ask(query, query_tail(query))


async def test_ids_and_ports_are_spread() -> None:
    async with ScriptedUpstream() as upstream:
        sockets = sockets_to(upstream.port)
        for _ in range(25):
            await asyncio.gather(*(ask(sockets) for _ in range(40)))
        sockets.close()
    ids = [asked.message.id for asked in upstream.seen]
    ports = [asked.peer_port for asked in upstream.seen]
    assert len(set(ids)) > 950
    assert sum(abs(a - b) == 1 for a, b in itertools.pairwise(ids)) < 10
    assert len(set(ports)) > 28
    assert sockets.cache.hits.value + sockets.cache.misses.value == 1000
    assert sockets.cache.misses.value == 32


async def test_without_reuse_every_query_has_its_own_port() -> None:
    async with ScriptedUpstream() as upstream:
        sockets = sockets_to(upstream.port, expire=0)
        for _ in range(20):
            await ask(sockets)
        sockets.close()
    assert len({asked.peer_port for asked in upstream.seen}) >= 18  # the system may draw a port again
    assert sockets.cache.hits.value == 0


def three_bytes(asked: Asked) -> bytes:
    return b"\x01\x02\x03"


def other_id(asked: Asked) -> bytes:
    made = reply(asked, "@ 60 IN A 192.0.2.66")
    made.id ^= 0x5555
    return made.to_wire()


def other_id_and_broken(asked: Asked) -> bytes:
    return bytes((asked.wire[0] ^ 1, asked.wire[1])) + b"\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\x01"


def right_id_and_noise(asked: Asked) -> bytes:
    return asked.wire[:2] + b"\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" + b"\x3fnoise"


@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize("noise", [three_bytes, other_id, other_id_and_broken, right_id_and_noise])
async def test_strays_do_not_end_the_wait(noise: Callable[[Asked], bytes], times: int) -> None:
    async with ScriptedUpstream(then_good(*[noise] * times)) as upstream:
        sockets = sockets_to(upstream.port)
        message = await ask(sockets)
        sockets.close()
    assert message.answer[0].rdata == bytes((192, 0, 2, 1))


async def test_only_strays_time_out() -> None:
    async with ScriptedUpstream(lambda asked: [Send(other_id(asked))]) as upstream:
        sockets = sockets_to(upstream.port, timeout=0.05)
        with pytest.raises(UpstreamError, match=rf"^read udp 127\.0\.0\.1:\d+->{upstream.address}: i/o timeout$"):
            await ask(sockets)
        sockets.close()


async def test_each_waiting_query_has_its_own_deadline() -> None:
    async with ScriptedUpstream(silent) as upstream:
        sockets = sockets_to(upstream.port, timeout=0.05)
        results = await asyncio.gather(*(ask(sockets) for _ in range(40)), return_exceptions=True)
        assert all(isinstance(result, UpstreamError) for result in results)
        assert sockets.waiting == 0
        upstream.behaviour = good()
        assert (await ask(sockets)).answer
        sockets.close()


async def test_closed_port() -> None:
    with closed_port() as port:
        sockets = sockets_to(port)
        ends = rf"127\.0\.0\.1:\d+->127\.0\.0\.1:{port}"
        with pytest.raises(UpstreamError, match=f"^read udp {ends}: read: connection refused$"):
            await ask(sockets)
        assert sockets.waiting == 0
        sockets.close()


async def test_refusal_of_one_query_is_not_charged_to_the_next() -> None:
    """The kernel hands the error of an earlier packet to the next send, which then sends nothing."""
    query = parse_query(make_wire("example.org."))
    with closed_port() as port:
        sockets = sockets_to(port)
        first = sockets.ask(query, query_tail(query))
        await asyncio.sleep(0)  # it leaves, and is refused
        second = sockets.ask(query, query_tail(query))
        results = await asyncio.gather(first, second, return_exceptions=True)
        sockets.close()
    assert sockets.cache.misses.value == 2
    assert str(results[0]).endswith("write: connection refused")
    assert str(results[1]).endswith("read: connection refused")


async def test_queries_of_one_turn_are_refused_together() -> None:
    query = parse_query(make_wire("example.org."))
    with closed_port() as port:
        sockets = sockets_to(port)
        asking = [sockets.ask(query, query_tail(query)) for _ in range(40)]
        results = await asyncio.gather(*asking, return_exceptions=True)
        assert {str(result).rpartition(": ")[2] for result in results} == {"connection refused"}
        assert sockets.waiting == 0
        sockets.close()


async def test_closing_before_a_query_left() -> None:
    query = parse_query(make_wire("example.org."))
    async with ScriptedUpstream() as upstream:
        sockets = sockets_to(upstream.port)
        asking = sockets.ask(query, query_tail(query))
        sockets.close()
        with pytest.raises(UpstreamError, match=r"closed$"):
            await asking
        await asyncio.sleep(0)
        assert (sockets.waiting, upstream.count()) == (0, 0)


@pytest.mark.parametrize("bufsize", [None, 4096, 65535])
async def test_replies_of_any_size_that_was_asked_for(bufsize: int | None) -> None:
    size = {None: 400, 4096: 3900, 65535: 20_000}[bufsize]
    query = parse_query(make_wire("example.org.", "TXT", bufsize=bufsize))

    def large(asked: Asked) -> list[Step]:
        response = dns.message.make_response(asked.message)
        texts = " ".join(f'"{"x" * 200}"' for _ in range(size // 201))
        response.answer.append(dns.rrset.from_text("example.org.", 60, "IN", "TXT", texts))
        return [Send(response.to_wire(max_size=65535))]

    async with ScriptedUpstream(large) as upstream:
        sockets = sockets_to(upstream.port)
        message = await sockets.ask(query, query_tail(query))
        sockets.close()
    assert len(message.answer[0].rdata) == size // 201 * 201


@pytest.mark.parametrize("single", [False, True])
async def test_many_queries_in_one_turn(single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if single:
        monkeypatch.setattr(mmsg, "system_calls", lambda: None)
    async with ScriptedUpstream(good("192.0.2.1")) as upstream:
        sockets = sockets_to(upstream.port)
        messages = await asyncio.gather(*(ask(sockets, f"{n}.example.") for n in range(100)))
        sockets.close()
    assert len(messages) == upstream.count() == 100
    assert {seen.name for seen in upstream.seen} == {f"{n}.example." for n in range(100)}


@pytest.mark.parametrize("expire", [0.0, 10.0])
@pytest.mark.parametrize("answers", [True, False])
async def test_a_reply_may_lead_to_the_next_query_at_once(expire: float, answers: bool) -> None:
    """What is done with a reply runs within the reading of the socket, which is retired meanwhile."""
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
    query = parse_query(make_wire("example.org."))
    got: list[object] = []
    async with ScriptedUpstream(good("192.0.2.1") if answers else silent) as upstream:
        sockets = sockets_to(upstream.port, expire=expire, timeout=0.05)

        def received(result: object) -> None:
            got.append(result)
            if len(got) < 40:
                with suppress(UpstreamError):  # closed
                    sockets.post(DatagramAsker(query, received), query_tail(query))

        sockets.post(DatagramAsker(query, received), query_tail(query))
        await until(lambda: len(got) >= (40 if answers else 3))
        sockets.close()
    assert faults == []


async def test_interleaved_replies_find_their_queries() -> None:
    event = asyncio.Event()

    def odd_ones_wait(asked: Asked) -> list[Step]:
        number = asked.name.partition(".")[0]
        answer = good(f"192.0.2.{number}")(asked)
        return [Wait(event), *answer] if int(number) % 2 else [*answer]

    async with ScriptedUpstream(odd_ones_wait) as upstream:
        sockets = sockets_to(upstream.port)
        asking = [asyncio.create_task(ask(sockets, f"{n}.example.")) for n in range(30)]
        await asyncio.wait(asking[::2])
        event.set()
        messages = await asyncio.gather(*asking)
        sockets.close()
    assert [message.answer[0].rdata[3] for message in messages] == list(range(30))


async def test_waiting_queries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_udp, "_MAX_WAITING", 3)
    async with ScriptedUpstream(silent) as upstream:
        sockets = sockets_to(upstream.port)
        asking = [asyncio.create_task(ask(sockets)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await ask(sockets)
        sockets.close()
        assert all(
            isinstance(result, UpstreamError) for result in await asyncio.gather(*asking, return_exceptions=True)
        )


async def test_sockets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_udp, "_MAX_SOCKETS", 4)
    async with ScriptedUpstream(silent) as upstream:
        sockets = sockets_to(upstream.port)
        asking = [asyncio.create_task(ask(sockets)) for _ in range(200)]
        await until(lambda: upstream.count() == 200)
        assert len({asked.peer_port for asked in upstream.seen}) == 4
        sockets.close()
        await asyncio.gather(*asking, return_exceptions=True)


async def test_caller_that_gave_up_leaves_nothing_behind() -> None:
    async with ScriptedUpstream(silent) as upstream:
        sockets = sockets_to(upstream.port, timeout=0.05)
        task = asyncio.create_task(ask(sockets))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(UpstreamError):
            await ask(sockets)
        assert sockets.waiting == 0
        sockets.close()


async def test_source_address() -> None:
    async with ScriptedUpstream() as upstream:
        sockets = sockets_to(upstream.port, source="127.0.0.1")
        assert (await ask(sockets)).answer
        sockets.close()
        other_family = sockets_to(upstream.port, source="::1")
        assert (await ask(other_family)).answer
        other_family.close()
        elsewhere = sockets_to(upstream.port, source="192.0.2.1")
        with pytest.raises(UpstreamError, match="cannot assign requested address"):
            await ask(elsewhere)


async def test_port_zero_fails() -> None:
    sockets = sockets_to(0)
    with pytest.raises(UpstreamError):
        await ask(sockets)
    sockets.close()


async def test_oversized_reply_is_truncated() -> None:
    def too_long(asked: Asked) -> list[Step]:
        return [Send(reply(asked, *(f"@ 60 IN A 192.0.2.{n}" for n in range(100))).to_wire())]

    async with ScriptedUpstream(too_long) as upstream:
        sockets = sockets_to(upstream.port)
        message = await ask(sockets)
        sockets.close()
    assert message.answer == ()
    assert message.flags & consts.TC
