"""DNS over HTTPS to one upstream."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import dns.message
import pytest

from support.chain import make_wire
from support.doh import KEYS, SERVER_NAME, GoAway, ResetStream, Respond, ScriptedDoh
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
from waypost.toolkit import upstream_https
from waypost.toolkit.exchange import ExchangeSettings, Transport
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import ConnectionLost, Mismatch, UpstreamError
from waypost.toolkit.upstream_https import ALPN, https_client
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_multiplexed import MultiplexedClient
from waypost.toolkit.upstream_tls import TlsFiles, client_context
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import parse_query

UDP = Transport(stream=False)
CA = TlsFiles(str(KEYS / "ca.pem"))


@pytest.fixture
async def client_to() -> AsyncIterator[Callable[..., MultiplexedClient]]:
    """Makes clients that are closed with the test."""
    made: list[MultiplexedClient] = []

    def make(port: int, *, server_name: str = SERVER_NAME, ca: TlsFiles = CA, **settings: Any) -> MultiplexedClient:
        address = UpstreamAddress("127.0.0.1", port, scheme="https", server_name=server_name)
        cache = SocketCache(Counter(), Counter())
        made.append(
            https_client(
                address, client_context(ca, ALPN), ExchangeSettings(**{"read_timeout": 30.0} | settings), cache
            )
        )
        return made[-1]

    yield make
    for client in made:
        client.close()


Make = Callable[..., MultiplexedClient]


async def ask(client: MultiplexedClient, name: str = "example.org.", **query: Any) -> Message:
    return await client.ask(parse_query(make_wire(name, **query)), UDP)


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_request(client_to: Make, method: str) -> None:
    async with ScriptedDoh() as upstream:
        query = parse_query(make_wire("WwW.example.org.", "AAAA", bufsize=1400, do=True))
        upstream.behaviour = lambda asked: [Send(reply(asked, "@ 60 IN AAAA 2001:db8::1").to_wire())]
        got = await client_to(upstream.port, doh_method=method).ask(query, UDP)
    assert got.answer[0].rdata.hex().startswith("20010db8")
    (request,) = upstream.requests
    assert request.message() == b"\0\0" + query.wire[2:]
    path = request.headers.pop(":path")
    assert (
        (path == "/dns-query")
        if method == "POST"
        else path.startswith("/dns-query?dns=AAABAAAB") and "=" not in path[15:]
    )
    body = {"content-type": "application/dns-message", "content-length": str(len(query.wire))}
    assert request.headers == {
        ":method": method,
        ":scheme": "https",
        ":authority": f"{SERVER_NAME}:{upstream.port}",
        "accept": "application/dns-message",
        **(body if method == "POST" else {}),
    }


async def test_one_connection_for_everything(client_to: Make) -> None:
    event = asyncio.Event()
    async with ScriptedDoh(slow(event)) as upstream:
        client = client_to(upstream.port)
        asking = [asyncio.create_task(ask(client, f"{n}.example.")) for n in range(60)]
        await until(lambda: len(upstream.seen) == 60)
        event.set()
        messages = await asyncio.gather(*asking)
        await ask(client)
    assert upstream.connections == 1
    assert [message.qname[1:3] for message in messages[10:]] == [str(n).encode() for n in range(10, 60)]


async def test_streams_wait_for_room(client_to: Make) -> None:
    async with ScriptedDoh(streams=3) as upstream:
        client = client_to(upstream.port)
        messages = await asyncio.gather(*(ask(client, f"{n}.example.") for n in range(20)))
    assert all(message.answer for message in messages)
    assert (upstream.connections, upstream.most_streams) == (1, 3)


async def test_body_waits_for_room(client_to: Make) -> None:
    async with ScriptedDoh(window=20) as upstream:
        assert (await ask(client_to(upstream.port), "a-rather-long-name-for-so-small-a-window.example.")).answer


async def test_big_reply(client_to: Make) -> None:
    def behave(asked: Asked) -> list[Step]:
        return [Send(reply(asked, *(f"@ 60 IN TXT {n:0200}" for n in range(250))).to_wire())]

    async with ScriptedDoh(behave) as upstream:
        client = client_to(upstream.port)
        for _ in range(4):  # more than a connection's window
            assert len((await ask(client, qtype="TXT")).answer) == 250


async def test_time_in_caches_counts(client_to: Make) -> None:
    def behave(asked: Asked) -> list[Any]:
        wire = reply(asked, "@ 60 IN A 192.0.2.1", "@ 5 IN A 192.0.2.2").to_wire()
        return [Respond(wire, headers=(("age", "20"),))]

    async with ScriptedDoh(behave) as upstream:
        assert [record.ttl for record in (await ask(client_to(upstream.port))).answer] == [40, 0]


def wire(asked: Asked) -> bytes:
    return reply(asked, "@ 60 IN A 192.0.2.1").to_wire()


BAD: dict[str, tuple[Callable[[Asked], list[Any]], str]] = {
    "status": (lambda asked: [Respond(wire(asked), "503")], r"^DoH: HTTP status 503$"),
    "redirect": (lambda asked: [Respond(b"", "302", headers=(("location", "/x"),))], r"^DoH: HTTP status 302$"),
    "type": (lambda asked: [Respond(wire(asked), content_type="text/html")], r"^DoH: content type 'text/html'$"),
    "big": (lambda asked: [Respond(bytes(65536))], r"^DoH: response above 65535 bytes$"),
    "cut": (lambda asked: [Respond(wire(asked)[:-1])], r"^bad reply: "),
    "empty": (lambda asked: [Respond()], r"^bad reply: "),
    "reset": (lambda asked: [ResetStream()], r"^https://127\.0\.0\.1:\d+: stream reset by the server$"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_what_is_no_reply(client_to: Make, kind: str) -> None:
    behaviour, text = BAD[kind]
    async with ScriptedDoh(behaviour) as upstream:
        client = client_to(upstream.port)
        with pytest.raises(UpstreamError, match=text):
            await ask(client)
        upstream.behaviour = good()
        assert (await ask(client)).answer, "the connection is as good as before"
        assert upstream.connections == 1


async def test_parameters_of_the_content_type_do_not_matter(client_to: Make) -> None:
    async with ScriptedDoh(
        lambda asked: [Respond(wire(asked), content_type="Application/DNS-message; x=y")]
    ) as upstream:
        assert (await ask(client_to(upstream.port))).answer


async def test_reply_to_another_question(client_to: Make) -> None:
    def lie(message: dns.message.Message) -> None:
        message.question[0].name = dns.name.from_text("other.example.")

    async with ScriptedDoh(changed(lie)) as upstream:
        with pytest.raises(Mismatch):
            await ask(client_to(upstream.port))


@pytest.mark.parametrize("end", [GoAway(), Close(), Raw(b"\0\0\1\6\0\0\0\0\0x")], ids=["goaway", "close", "garbage"])
async def test_connection_that_ends_under_queries_is_replaced_once(client_to: Make, end: Any) -> None:
    async with ScriptedDoh() as upstream:
        client = client_to(upstream.port)
        await ask(client)
        upstream.behaviour = lambda asked: [end] if asked.connection == 1 else good()(asked)
        messages = await asyncio.gather(*(ask(client) for _ in range(20)))
        assert all(message.answer for message in messages)
        assert upstream.connections == 2


async def test_idle_connection_closed_by_the_peer_costs_nothing(client_to: Make) -> None:
    async with ScriptedDoh() as upstream:
        client = client_to(upstream.port)
        for _ in range(5):
            assert (await ask(client)).answer
            upstream.drop_connections()
    assert upstream.connections == 5


async def test_new_connection_that_breaks_is_an_error(client_to: Make) -> None:
    async with ScriptedDoh(lambda asked: [Close()]) as upstream:
        with pytest.raises(ConnectionLost):
            await ask(client_to(upstream.port))
        assert upstream.connections == 1


async def test_time_is_limited_as_a_whole_and_a_dead_connection_is_left(client_to: Make) -> None:
    async with ScriptedDoh(silent) as upstream:
        client = client_to(upstream.port, read_timeout=0.2)
        with pytest.raises(UpstreamError, match=r"^https://127\.0\.0\.1:\d+: i/o timeout$"):
            await ask(client)
        upstream.behaviour = good()
        client._timeout = 30.0
        assert (await ask(client)).answer
        assert upstream.connections == 2


async def test_given_up_query_ends_its_stream(client_to: Make) -> None:
    async with ScriptedDoh(silent, streams=1) as upstream:
        client = client_to(upstream.port)
        asking = asyncio.create_task(ask(client))
        await until(lambda: len(upstream.seen) == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        upstream.behaviour = good()
        assert (await ask(client)).answer
        assert upstream.connections == 1


async def test_refused(client_to: Make) -> None:
    with closed_port() as port, pytest.raises(UpstreamError, match=r"connection refused$"):
        await ask(client_to(port))


async def test_certificate_of_somebody_else(client_to: Make) -> None:
    async with ScriptedDoh() as upstream:
        with pytest.raises(UpstreamError, match="failed to verify certificate"):
            await ask(client_to(upstream.port, server_name="dns.example"))
        with pytest.raises(UpstreamError, match="failed to verify certificate"):
            await ask(client_to(upstream.port, ca=TlsFiles()))
        assert not upstream.seen


async def test_server_without_http2(client_to: Make) -> None:
    async with ScriptedDoh(alpn="http/1.1") as upstream:
        with pytest.raises(UpstreamError, match=r"the server does not speak HTTP/2$"):
            await ask(client_to(upstream.port))


@pytest.mark.parametrize(("expire", "connections"), [(0.0, 3), (10.0, 1)])
async def test_expire(client_to: Make, expire: float, connections: int) -> None:
    async with ScriptedDoh() as upstream:
        client = client_to(upstream.port, expire=expire)
        for _ in range(3):
            await ask(client)
    assert upstream.connections == connections


async def test_probe_has_a_connection_of_its_own(client_to: Make) -> None:
    async with ScriptedDoh() as upstream:
        client = client_to(upstream.port)
        await ask(client)
        upstream.behaviour = rcode("REFUSED")
        assert await client.probe(parse_query(make_wire(".", "NS")), stream=False, patience=1.0) == consts.REFUSED
        assert upstream.connections == 2
        await until(lambda: len(upstream.open) == 1)
        upstream.behaviour = silent
        with pytest.raises(UpstreamError, match="i/o timeout"):
            await client.probe(parse_query(make_wire(".", "NS")), stream=False, patience=0.05)


async def test_close_fails_what_waits(client_to: Make) -> None:
    async with ScriptedDoh(lambda asked: [Wait(asyncio.Event())]) as upstream:
        client = client_to(upstream.port)
        asking = asyncio.create_task(ask(client))
        await until(lambda: len(upstream.seen) == 1)
        client.close()
        with pytest.raises(ConnectionLost):
            await asking


async def test_numbers_of_streams_do_not_run_out(client_to: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_https, "_MAX_STREAM", 3)
    async with ScriptedDoh() as upstream:
        client = client_to(upstream.port)
        for _ in range(4):
            assert (await ask(client)).answer
    assert upstream.connections == 2


def test_contexts_do_not_trust_blindly() -> None:
    context = client_context(CA, ALPN)
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
