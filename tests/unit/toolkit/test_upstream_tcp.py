"""TCP and TLS to one upstream."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from pathlib import Path

import dns.message
import dns.rdataclass
import pytest

from support.chain import make_wire
from support.upstream import (
    Asked,
    Close,
    Raw,
    ScriptedUpstream,
    Send,
    Step,
    changed,
    closed_port,
    good,
    reply,
    silent,
    slow,
    until,
)
from waypost.metrics.registry import Counter
from waypost.toolkit import upstream_pool, upstream_tcp
from waypost.toolkit.inflight import MessageIds
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import Busy, ConnectionLost, Mismatch, UpstreamError
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_pool import ConnectionPool, PoolLimits, Spread
from waypost.toolkit.upstream_reply import query_tail
from waypost.toolkit.upstream_tcp import stream_pool
from waypost.wire.message import Message
from waypost.wire.query import parse_query

KEYS = Path(__file__).parents[2] / "data" / "kube-tls"
SERVER_NAME = "kubernetes.default.svc"
LIMITS = PoolLimits(2.0, 10.0, 0.0, 0)


def pool_to(
    port: int, limits: PoolLimits = LIMITS, *, tls: ssl.SSLContext | None = None, server_name: str = SERVER_NAME
) -> ConnectionPool:
    cache = SocketCache(Counter(), Counter())
    address = UpstreamAddress("127.0.0.1", port, scheme="tls" if tls else "dns", server_name=server_name if tls else "")
    return stream_pool(address, tls, limits, "", MessageIds(), cache)


async def ask(pool: ConnectionPool, name: str = "example.org.") -> Message:
    query = parse_query(make_wire(name))
    return await pool.ask(query, query_tail(query))


async def test_connection_is_kept() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port)
        for _ in range(5):
            assert (await ask(pool)).answer
        pool.close()
    assert upstream.connections == 1


async def test_parallel_queries_get_connections_of_their_own_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_tcp, "_TCP_SPREAD", Spread(1, 4))
    event = asyncio.Event()
    async with ScriptedUpstream(slow(event)) as upstream:
        pool = pool_to(upstream.port)
        asking = [asyncio.create_task(ask(pool, f"{n}.example.")) for n in range(40)]
        await until(lambda: upstream.count() == 40)
        event.set()
        messages = await asyncio.gather(*asking)
        pool.close()
    assert upstream.connections == 4
    assert [message.qname[1:3] for message in messages[10:]] == [str(n).encode() for n in range(10, 40)]


async def test_reply_in_pieces() -> None:
    def behave(asked: Asked) -> Iterable[Step]:
        wire = reply(asked, "@ 60 IN A 192.0.2.1").to_wire()
        return [Raw(bytes((byte,))) for byte in len(wire).to_bytes(2, "big") + wire]

    async with ScriptedUpstream(behave) as upstream:
        pool = pool_to(upstream.port)
        assert (await ask(pool)).answer
        pool.close()


async def test_idle_connection_closed_by_the_peer_costs_nothing() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port)
        for _ in range(10):
            assert (await ask(pool)).answer
            upstream.drop_connections()
        pool.close()
    assert upstream.connections == 10


@pytest.mark.parametrize("reset", [False, True])
async def test_connection_that_breaks_under_a_query_is_replaced_once(reset: bool) -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port)
        await ask(pool)

        def breaks_first(asked: Asked) -> Iterable[Step]:
            return [Close(reset)] if asked.connection == 1 else good()(asked)

        upstream.behaviour = breaks_first
        assert (await ask(pool)).answer
        assert [asked.connection for asked in upstream.seen] == [1, 1, 2]
        pool.close()


async def test_second_try_is_not_wasted_on_another_stale_connection() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port)
        await asyncio.gather(*(ask(pool) for _ in range(3)))
        upstream.behaviour = lambda asked: [Close()] if asked.connection <= 3 else good()(asked)
        assert (await ask(pool)).answer
        assert upstream.count() == 5
        pool.close()


async def test_burst_on_a_stale_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_tcp, "_TCP_SPREAD", Spread(1, 1))
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port)
        await ask(pool)
        upstream.behaviour = lambda asked: [Close()] if asked.connection == 1 else good()(asked)
        messages = await asyncio.gather(*(ask(pool) for _ in range(50)))
        assert all(message.answer for message in messages)
        pool.close()


async def test_new_connection_that_breaks_is_an_error() -> None:
    async with ScriptedUpstream(lambda asked: [Close()]) as upstream:
        pool = pool_to(upstream.port)
        with pytest.raises(ConnectionLost, match=r"^EOF$"):
            await ask(pool)
        assert upstream.count() == 1
        upstream.behaviour = lambda asked: [Close(reset=True)]
        with pytest.raises(ConnectionLost, match=r"^read tcp .*: read: connection reset by peer$"):
            await ask(pool)
        pool.close()


async def test_closed_in_the_middle_of_a_message() -> None:
    def behave(asked: Asked) -> Iterable[Step]:
        return [Raw(b"\x00\x50" + asked.wire[:30]), Close()]

    async with ScriptedUpstream(behave) as upstream:
        pool = pool_to(upstream.port)
        with pytest.raises(ConnectionLost):
            await ask(pool)
        pool.close()


async def test_refused() -> None:
    with closed_port() as port:
        pool = pool_to(port)
        with pytest.raises(UpstreamError, match=rf"^dial tcp 127\.0\.0\.1:{port}: connect: connection refused$"):
            await ask(pool)
        pool.close()


async def test_silence_ends_the_connection_too() -> None:
    async with ScriptedUpstream(silent) as upstream:
        pool = pool_to(upstream.port, PoolLimits(0.05, 10.0, 0.0, 0))
        with pytest.raises(UpstreamError, match=r"^read tcp 127\.0\.0\.1:\d+->.*: i/o timeout$"):
            await ask(pool)
        upstream.behaviour = good()
        assert (await ask(pool)).answer
        assert upstream.connections == 2
        pool.close()


@pytest.mark.parametrize(("expire", "connections"), [(0.0, 3), (10.0, 1)])
async def test_expire(expire: float, connections: int) -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port, LIMITS._replace(expire=expire))
        for _ in range(3):
            await ask(pool)
        pool.close()
    assert upstream.connections == connections


async def test_expired_connections_are_closed_without_a_query() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port, LIMITS._replace(expire=0.02))
        await asyncio.gather(*(ask(pool) for _ in range(3)))
        await until(lambda: not pool._open)
        pool.close()
    assert upstream.connections == 3


async def test_max_age_replaces_a_busy_connection() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port, LIMITS._replace(max_age=0.02))
        await ask(pool)
        pool._open[0].born -= 1
        await ask(pool)
        pool.close()
    assert upstream.connections == 2


async def test_max_idle() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port, LIMITS._replace(max_idle=2))
        await asyncio.gather(*(ask(pool) for _ in range(6)))
        assert len(pool._open) == 2
        pool.close()


async def test_waiting_queries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_pool, "_MAX_WAITING", 2)
    async with ScriptedUpstream(silent) as upstream:
        pool = pool_to(upstream.port)
        asking = [asyncio.create_task(ask(pool)) for _ in range(2)]
        await until(lambda: upstream.count() == 2)
        with pytest.raises(Busy):
            await ask(pool)
        pool.close()
        results = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(result) for result in results] == [ConnectionLost, ConnectionLost]


async def test_reply_to_another_question() -> None:
    def lie(message: dns.message.Message) -> None:
        message.question[0].rdclass = dns.rdataclass.CH

    async with ScriptedUpstream(changed(lie)) as upstream:
        pool = pool_to(upstream.port)
        with pytest.raises(Mismatch):
            await ask(pool)
        pool.close()


async def test_messages_that_nobody_asked_for() -> None:
    def behave(asked: Asked) -> Iterable[Step]:
        other = reply(asked)
        other.id ^= 1
        return [Raw(b"\x00\x00\x00\x01\x07"), Send(other.to_wire()), *good()(asked)]

    async with ScriptedUpstream(behave) as upstream:
        pool = pool_to(upstream.port)
        assert (await ask(pool)).answer
        pool.close()


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(KEYS / "server.pem", KEYS / "server.key")
    return context


def client_context(ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca:
        context.load_verify_locations(ca)
    return context


async def test_tls_shares_a_connection() -> None:
    async with ScriptedUpstream(tls=server_context()) as upstream:
        pool = pool_to(upstream.port, tls=client_context(KEYS / "ca.pem"))
        messages = await asyncio.gather(*(ask(pool) for _ in range(8)))
        assert all(message.answer for message in messages)
        await ask(pool)
        pool.close()
    assert upstream.connections == 1


async def test_tls_wrong_name() -> None:
    async with ScriptedUpstream(tls=server_context()) as upstream:
        pool = pool_to(upstream.port, tls=client_context(KEYS / "ca.pem"), server_name="dns.example")
        with pytest.raises(UpstreamError, match=r"failed to verify certificate of 127\.0\.0\.1"):
            await ask(pool)
        pool.close()


@pytest.mark.parametrize("name", [".example", "x" * 64 + ".example"])
async def test_tls_impossible_name(name: str) -> None:
    async with ScriptedUpstream(tls=server_context()) as upstream:
        pool = pool_to(upstream.port, tls=client_context(KEYS / "ca.pem"), server_name=name)
        with pytest.raises(UpstreamError, match=r"^tls: "):
            await ask(pool)
        pool.close()


async def test_tls_unknown_authority() -> None:
    async with ScriptedUpstream(tls=server_context()) as upstream:
        pool = pool_to(upstream.port, tls=client_context(None))
        results = await asyncio.gather(*(ask(pool) for _ in range(3)), return_exceptions=True)
        assert all("failed to verify certificate" in str(result) for result in results)
        assert upstream.count() == 0
        pool.close()


async def test_tls_to_a_plain_server() -> None:
    async with await asyncio.start_server(_babble, "127.0.0.1", 0) as server:
        pool = pool_to(server.sockets[0].getsockname()[1], tls=client_context(KEYS / "ca.pem"))
        with pytest.raises(UpstreamError, match=r"^tls: handshake with .* failed: "):
            await ask(pool)
        pool.close()


async def _babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"this is no TLS at all, and never was\n" * 10)
    await writer.drain()
    writer.close()


async def test_close_while_connecting() -> None:
    async with ScriptedUpstream() as upstream:
        pool = pool_to(upstream.port)
        task = asyncio.create_task(ask(pool))
        await asyncio.sleep(0)
        pool.close()
        with pytest.raises(UpstreamError):
            await task
