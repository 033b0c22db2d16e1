"""DNS over HTTP/3 on loopback, by clients that keep to the rules and some that do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dns.asyncquery
import dns.message
import pytest
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic import events

from support.listening import query
from support.quicclient import Client, configuration, connected
from support.secure import CA, SERVER_NAME, Listening
from waypost.dispatch.transports import Limits

POST = [
    (b":method", b"POST"),
    (b":scheme", b"https"),
    (b":authority", SERVER_NAME.encode()),
    (b":path", b"/dns-query"),
    (b"content-type", b"application/dns-message"),
]
EXCESSIVE_LOAD = 0x107


class Http:
    """HTTP/3 of a client: `responses` are headers and body by stream."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.http = H3Connection(client._quic)
        self.responses: dict[int, tuple[dict[bytes, bytes], bytes]] = {}
        for event in client.seen:
            self._take(event)
        client.hear = self._take

    def _take(self, event: events.QuicEvent) -> None:
        for each in self.http.handle_event(event):
            if isinstance(each, HeadersReceived):
                self.responses[each.stream_id] = (dict(each.headers), b"")
            elif isinstance(each, DataReceived):
                headers, body = self.responses[each.stream_id]
                self.responses[each.stream_id] = (headers, body + each.data)

    def ask(self, body: bytes, headers: Any = POST, *, end: bool = True) -> int:
        stream = self.client._quic.get_next_available_stream_id()
        self.http.send_headers(stream, headers, end_stream=end and not body)
        if body:
            self.http.send_data(stream, body, end_stream=end)
        self.client.transmit()
        return stream

    async def response(self, stream: int) -> tuple[dict[bytes, bytes], bytes]:
        ended = self.client.ended  # the headers of a response may wait for those about them on another stream
        await self.client.until(lambda: stream in ended and stream in self.responses)
        return self.responses[stream]


@asynccontextmanager
async def http(port: int) -> AsyncIterator[Http]:
    async with connected(port, configuration("h3")) as client:
        yield Http(client)


@pytest.mark.parametrize("post", [True, False])
async def test_by_dnspython(post: bool) -> None:
    question = dns.message.make_query("a.", "A", id=0)
    async with Listening("https3") as listening:
        answer = await dns.asyncquery.https(
            question,
            f"https://{SERVER_NAME}:{listening.port}/dns-query",
            timeout=5,
            verify=CA,
            post=post,
            bootstrap_address="127.0.0.1",
            http_version=dns.asyncquery.HTTPVersion.HTTP_3,
        )
        (request,) = listening.world.plugin.seen
    assert answer.answer[0][0].to_text() == "10.0.0.1"
    assert (request.protocol, request.client_ip) == ("udp", "127.0.0.1")
    assert list(listening.counted("coredns_dns_https3_responses_total").values()) == [1]


async def test_many_requests_in_any_order() -> None:
    async with Listening("https3") as listening, http(listening.port) as client:
        slow = client.ask(query("slow.", 0))
        quick = [client.ask(query("a.", 0)) for _ in range(20)]
        for stream in quick:
            headers, body = await client.response(stream)
            assert headers[b":status"] == b"200"
            assert headers[b"cache-control"] == b"max-age=5"
            assert dns.message.from_wire(body).answer
        assert slow not in client.responses
        listening.world.plugin.waiting[b"slow"].set()
        assert (await client.response(slow))[0][b":status"] == b"200"


@pytest.mark.parametrize(
    ("body", "changes", "status"),
    [
        (b"what?", {}, b"400"),
        (query("a.", 0), {b":path": b"/"}, b"404"),
        (query("a.", 0), {b":method": b"PUT"}, b"405"),
        (query("a.", 0), {b"content-type": b"text/plain"}, b"415"),
        (bytes(65_536), {}, b"413"),
        (query("drop.", 0), {}, b"500"),
        (query("a.", 0), {b"x": b"y" * 17_000}, b"431"),
    ],
)
async def test_no_query(body: bytes, changes: dict[bytes, bytes], status: bytes) -> None:
    async with Listening("https3") as listening, http(listening.port) as client:
        stream = client.ask(body, list({**dict(POST), **changes}.items()))
        assert (await client.response(stream))[0][b":status"] == status


class TestHostileClients:
    async def test_requests_that_never_end(self) -> None:
        limits = Limits(connections=200, streams=10, waiting=100)
        async with Listening("https3", limits=limits) as listening, http(listening.port) as bad:
            for _ in range(50):
                bad.ask(b"\0", end=False)
            await bad.client.until(lambda: len(bad.client.reset) >= 40)
            async with http(listening.port) as good:
                assert (await good.response(good.ask(query("a.", 0))))[0][b":status"] == b"200"

    async def test_unfinished_bodies_are_bounded(self) -> None:
        async with Listening("https3") as listening, http(listening.port) as client:
            for _ in range(5):
                client.ask(bytes(60_000), end=False)
            assert await client.client.code() == EXCESSIVE_LOAD

    async def test_a_frame_that_is_too_long(self) -> None:
        async with Listening("https3") as listening, http(listening.port) as client:
            huge = b"\x01\x80\x10\x00\x00" + bytes(100_000)  # HEADERS of a megabyte
            number = client.client.send(huge, end=False)
            await client.client.until(lambda: number in client.client.reset)
            assert client.client.reset == {number: EXCESSIVE_LOAD}

    async def test_a_control_stream_that_never_ends(self) -> None:
        async with Listening("https3") as listening, http(listening.port) as client:
            number = client.client.send(b"\x21", uni=True, end=False)
            for _ in range(8):
                client.client.send(bytes(10_000), stream=number, end=False)
                await asyncio.sleep(0.01)
            assert await client.client.code() == EXCESSIVE_LOAD

    async def test_what_is_no_http3(self) -> None:
        async with Listening("https3") as listening, connected(listening.port, configuration("h3")) as client:
            client.send(b"\x00\x05hello")  # DATA before HEADERS
            assert await client.code() == 0x105

    async def test_too_many_that_wait(self) -> None:
        limits = Limits(connections=200, streams=256, waiting=2)
        async with Listening("https3", limits=limits) as listening, http(listening.port) as client:
            streams = [client.ask(query(f"slow{n}.", 0)) for n in range(3)]
            assert (await client.response(streams[2]))[0][b":status"] == b"503"
