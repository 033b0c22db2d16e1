"""DNS over QUIC to one upstream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import dns.edns
import dns.message
import pytest

from support.chain import make_wire
from support.doh import KEYS, SERVER_NAME, ResetStream
from support.doq import ScriptedDoq
from support.upstream import (
    Asked,
    Close,
    Raw,
    Send,
    Step,
    Wait,
    changed,
    closed_port,
    good,
    rcode,
    reply,
    silent,
    slow,
    until,
)
from waypost.metrics.registry import Counter
from waypost.toolkit import upstream_quic
from waypost.toolkit.exchange import ExchangeSettings, Transport
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import ConnectionLost, Mismatch, UpstreamError
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_multiplexed import MultiplexedClient
from waypost.toolkit.upstream_quic import quic_client
from waypost.toolkit.upstream_tls import TlsFiles
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import parse_query

UDP = Transport(stream=False)
CA = TlsFiles(str(KEYS / "ca.pem"))
Make = Callable[..., MultiplexedClient]


@pytest.fixture
async def client_to() -> AsyncIterator[Make]:
    """Makes clients that are closed with the test."""
    made: list[MultiplexedClient] = []

    def make(port: int, *, server_name: str = SERVER_NAME, files: TlsFiles = CA, **settings: Any) -> MultiplexedClient:
        address = UpstreamAddress("127.0.0.1", port, scheme="quic", server_name=server_name)
        cache = SocketCache(Counter(), Counter())
        made.append(quic_client(address, files, ExchangeSettings(**{"read_timeout": 30.0} | settings), cache))
        return made[-1]

    yield make
    for client in made:
        client.close()


async def ask(client: MultiplexedClient, name: str = "example.org.", **query: Any) -> Message:
    return await client.ask(parse_query(make_wire(name, **query)), UDP)


async def test_query(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        query = parse_query(make_wire("WwW.example.org.", bufsize=1400, do=True))
        got = await client_to(upstream.port).ask(query, UDP)
    assert got.answer[0].rdata == bytes((192, 0, 2, 1))
    assert upstream.raw == [len(query.wire).to_bytes(2, "big") + b"\0\0" + query.wire[2:]]


async def test_keepalive_option_is_left_out(client_to: Make) -> None:
    options = (dns.edns.GenericOption(11, b""), dns.edns.GenericOption(65001, b"x"))
    async with ScriptedDoq() as upstream:
        await ask(client_to(upstream.port), options=options)
        await ask(client_to(upstream.port), options=options[:1])
    assert [[int(option.otype) for option in asked.message.options] for asked in upstream.seen] == [[65001], []]
    assert [asked.message.edns for asked in upstream.seen] == [0, 0]


async def test_one_connection_for_everything(client_to: Make) -> None:
    event = asyncio.Event()
    async with ScriptedDoq(slow(event)) as upstream:
        client = client_to(upstream.port)
        asking = [asyncio.create_task(ask(client, f"{n}.example.")) for n in range(60)]
        await until(lambda: len(upstream.seen) == 60)
        event.set()
        messages = await asyncio.gather(*asking)
        await ask(client)
    assert upstream.connections == 1
    assert [message.qname[1:3] for message in messages[10:]] == [str(n).encode() for n in range(10, 60)]


async def test_more_queries_than_streams_allowed(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port)
        messages = await asyncio.gather(*(ask(client, f"{n}.example.") for n in range(300)))
    assert all(message.answer for message in messages)
    assert upstream.connections == 1


async def test_big_reply(client_to: Make) -> None:
    def behave(asked: Asked) -> list[Step]:
        return [Send(reply(asked, *(f"@ 60 IN TXT {n:0200}" for n in range(250))).to_wire())]

    async with ScriptedDoq(behave) as upstream:
        assert len((await ask(client_to(upstream.port), qtype="TXT")).answer) == 250


def framed(asked: Asked) -> bytes:
    wire = reply(asked, "@ 60 IN A 192.0.2.1").to_wire()
    return len(wire).to_bytes(2, "big") + wire


BAD: dict[str, tuple[Callable[[Asked], list[Any]], str]] = {
    "nothing": (lambda asked: [Raw(b"")], r"^bad reply: stream ended early$"),
    "half a length": (lambda asked: [Raw(b"\0")], r"^bad reply: stream ended early$"),
    "cut": (lambda asked: [Raw(framed(asked)[:-1])], r"^bad reply: stream ended early$"),
    "no message": (lambda asked: [Raw(b"\0\2\0\0")], r"^bad reply: message shorter than its header$"),
    "id": (lambda asked: [Raw(framed(asked)[:2] + b"\0\1" + framed(asked)[4:])], r"^bad reply: message id is not 0$"),
    "reset": (lambda asked: [ResetStream()], r"^quic://127\.0\.0\.1:\d+: stream reset by the server$"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_what_is_no_reply(client_to: Make, kind: str) -> None:
    behaviour, text = BAD[kind]
    async with ScriptedDoq(behaviour) as upstream:
        client = client_to(upstream.port)
        with pytest.raises(UpstreamError, match=text):
            await ask(client)
        upstream.behaviour = good()
        assert (await ask(client)).answer, "the connection is as good as before"
        assert upstream.connections == 1


async def test_reply_to_another_question(client_to: Make) -> None:
    def lie(message: dns.message.Message) -> None:
        message.question[0].name = dns.name.from_text("other.example.")

    async with ScriptedDoq(changed(lie)) as upstream:
        with pytest.raises(Mismatch):
            await ask(client_to(upstream.port))


async def test_connection_that_ends_under_queries_is_replaced_once(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port)
        await ask(client)
        upstream.behaviour = lambda asked: [Close()] if asked.connection == 1 else good()(asked)
        messages = await asyncio.gather(*(ask(client) for _ in range(20)))
        assert all(message.answer for message in messages)
        assert upstream.connections == 2


async def test_later_connection_resumes_the_session(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port, expire=0.0)
        for _ in range(3):
            assert (await ask(client)).answer
        assert (upstream.connections, upstream.resumed) == (3, 2)


async def test_connection_that_idles_too_long_for_the_server(client_to: Make) -> None:
    async with ScriptedDoq(idle_timeout=0.2) as upstream:
        client = client_to(upstream.port)
        assert (await ask(client)).answer
        await until(lambda: not client._pool._open)
        assert (await ask(client)).answer
        assert upstream.connections == 2


async def test_server_that_restarts(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port)
        assert (await ask(client)).answer
        await upstream.stop()
        await upstream.start()
        assert (await ask(client)).answer
        assert upstream.connections == 2


async def test_time_is_limited_as_a_whole(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port, read_timeout=0.3)
        client._timeout = 30.0
        await ask(client)
        client._timeout = 0.3
        upstream.behaviour = silent
        with pytest.raises(UpstreamError, match=r"^quic://127\.0\.0\.1:\d+: i/o timeout$"):
            await ask(client)
        upstream.behaviour = good()
        client._timeout = 30.0
        assert (await ask(client)).answer
        assert upstream.connections == 1, "packets came back on it"


async def test_dead_connection_is_left(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port, read_timeout=0.3)
        client._timeout = 30.0
        await ask(client)
        client._timeout = 0.3
        upstream.dead = 1
        with pytest.raises(UpstreamError, match=r"i/o timeout$"):
            await ask(client)
        client._timeout = 30.0
        assert (await ask(client)).answer
        assert upstream.connections == 2


async def test_given_up_query_ends_its_stream(client_to: Make) -> None:
    async with ScriptedDoq(silent) as upstream:
        client = client_to(upstream.port)
        asking = asyncio.create_task(ask(client))
        await until(lambda: len(upstream.seen) == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: upstream.stopped_streams == 1)
        upstream.behaviour = good()
        assert (await ask(client)).answer
        assert upstream.connections == 1


async def test_refused(client_to: Make) -> None:
    with closed_port() as port, pytest.raises(UpstreamError, match=r"^dial udp .*connection refused$"):
        await ask(client_to(port))


async def test_certificate_of_somebody_else(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        with pytest.raises(UpstreamError, match="doesn't match"):
            await ask(client_to(upstream.port, server_name="dns.example"))
        with pytest.raises(UpstreamError, match=r"^quic://.*certificate"):
            await ask(client_to(upstream.port, files=TlsFiles()))
        assert not upstream.seen


@pytest.mark.parametrize("name", ["x" * 64 + ".example", "ü.example"])
async def test_impossible_name(client_to: Make, name: str) -> None:
    async with ScriptedDoq() as upstream:
        with pytest.raises(UpstreamError, match=r"^quic://"):
            await ask(client_to(upstream.port, server_name=name))


async def test_server_of_something_else(client_to: Make) -> None:
    async with ScriptedDoq(alpn="h3") as upstream:
        with pytest.raises(UpstreamError, match=r"^quic://"):
            await ask(client_to(upstream.port))


async def test_client_certificate_can_be_given(client_to: Make) -> None:
    files = CA._replace(certificate=str(KEYS / "client.pem"), key=str(KEYS / "client.key"))
    async with ScriptedDoq() as upstream:
        assert (await ask(client_to(upstream.port, files=files))).answer


async def test_probe_has_a_connection_of_its_own(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port)
        await ask(client)
        upstream.behaviour = rcode("REFUSED")
        assert await client.probe(parse_query(make_wire(".", "NS")), stream=False, patience=1.0) == consts.REFUSED
        assert upstream.connections == 2
        await until(lambda: len(upstream.open) == 1)


async def test_close_fails_what_waits(client_to: Make) -> None:
    async with ScriptedDoq(lambda asked: [Wait(asyncio.Event())]) as upstream:
        client = client_to(upstream.port)
        asking = asyncio.create_task(ask(client))
        await until(lambda: len(upstream.seen) == 1)
        client.close()
        with pytest.raises(ConnectionLost):
            await asking


async def test_close_while_connecting(client_to: Make) -> None:
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port)
        asking = asyncio.create_task(ask(client))
        await asyncio.sleep(0)
        client.close()
        with pytest.raises(UpstreamError):
            await asking


async def test_numbers_of_streams_do_not_grow_for_ever(client_to: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_quic, "_MAX_STREAM", 4)
    async with ScriptedDoq() as upstream:
        client = client_to(upstream.port)
        for _ in range(4):
            assert (await ask(client)).answer
    assert upstream.connections == 2
