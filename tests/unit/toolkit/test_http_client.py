"""The HTTP client against servers that answer byte by byte, right and wrong."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.http_wire import HANG_UP, OK, HttpWire
from support.upstream import closed_port
from waypost.toolkit import http_client
from waypost.toolkit.http_client import HttpClient, Way
from waypost.toolkit.http_connection import Answer, Gunzip
from waypost.toolkit.http_errors import HttpError
from waypost.toolkit.upstream_tls import client_context, files_of

TLS = Path(__file__).parents[2] / "data/kube-tls"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    one = HttpClient(5)
    yield one
    await one.close()


async def body(answer: Answer, patience: float | None = 5) -> bytes:
    async with answer:
        return b"".join([part async for part in answer.parts(patience)])


async def fetch(client: HttpClient, url: str, method: str = "GET", **how: object) -> bytes:
    return await body(await client.send(method, url, {}, **how))  # type: ignore[arg-type]


async def test_a_request_goes_out_as_it_is_said(client: HttpClient) -> None:
    async with HttpWire(OK) as wire:
        answer = await client.send("POST", wire.url + "/a%2Fb?c=%20", {"X-A": "b"}, b"{}")
        assert (answer.status, answer.headers, await body(answer)) == (200, {"content-length": "2"}, b"ok")
    head = f"POST /a%2Fb?c=%20 HTTP/1.1\r\nHost: 127.0.0.1:{wire.port}\r\nX-A: b\r\nContent-Length: 2\r\n\r\n"
    assert wire.requests == [head.encode() + b"{}"]


async def test_user_information_of_a_url_is_basic_authorization(client: HttpClient) -> None:
    async with HttpWire(OK) as wire:
        await fetch(client, f"http://u:p%40@127.0.0.1:{wire.port}")
    assert b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Basic dTpwQA==\r\n" % wire.port in wire.requests[0]


@pytest.mark.parametrize(("url", "headers"), [("/a b", {}), ("/", {"A": "b\r\nC: d"}), ("/", {"A\n": "b"})])
async def test_nothing_smuggles_a_line_into_a_request(client: HttpClient, url: str, headers: dict[str, str]) -> None:
    async with HttpWire() as wire:
        with pytest.raises(ValueError):
            await client.send("GET", wire.url + url, headers)
        assert wire.connections == 0


@pytest.mark.parametrize("url", ["http://", "http://a:99999/", "http://[::1"])
async def test_urls_that_are_none(client: HttpClient, url: str) -> None:
    with pytest.raises(ValueError):
        await client.send("GET", url, {})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OK, b"ok"),
        (CHUNKED + b"1;x=y\r\na\r\n2\r\nbc\r\n0\r\nTrailer: x\r\n\r\n", b"abc"),
        (b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore", b"ok"),
    ],
    ids=["length", "chunked", "interim", "end", "1.0", "none", "unasked"],
)
async def test_ways_to_frame_a_body(client: HttpClient, answer: bytes, expected: bytes) -> None:
    async with HttpWire(answer, close=True) as wire:
        assert await fetch(client, wire.url) == expected


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (HANG_UP, "^EOF$"),
        (b"HTTP/1.1 200", "^EOF$"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "^unexpected EOF$"),
        (CHUNKED + b"3\r\nab", "^unexpected EOF$"),
        (CHUNKED + b"zz\r\n", "^malformed HTTP response: "),
        (b"SSH-2.0-OpenSSH\r\n", "^malformed HTTP response: "),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            "^malformed HTTP response: ",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "^malformed HTTP response: "),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000, "a head of more than 65536 bytes$"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "in the coding 'br'$"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "^gzip: "),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"abc")[:-1], "^unexpected EOF$"),
    ],
)
async def test_answers_that_are_none(client: HttpClient, answer: bytes, text: str) -> None:
    async with HttpWire(answer, close=True) as wire:
        with pytest.raises(HttpError, match=text):
            await fetch(client, wire.url)


async def test_silence_lasts_as_long_as_it_may(client: HttpClient) -> None:
    async with HttpWire(CHUNKED + b"1\r\na\r\n") as wire:
        answer = await client.send("GET", wire.url, {})
        with pytest.raises(TimeoutError):
            await body(answer, 0.01)


class TestKeptAlive:
    async def test_one_connection_after_the_other(self, client: HttpClient) -> None:
        async with HttpWire(OK, CHUNKED + b"0\r\n\r\n", OK) as wire:
            assert [await fetch(client, wire.url) for _ in range(3)] == [b"ok", b"", b"ok"]
            assert wire.connections == 1

    async def test_at_the_same_time_they_are_two(self, client: HttpClient) -> None:
        async with HttpWire(OK, OK, OK) as wire:
            one, two = [await client.send("GET", wire.url, {}) for _ in range(2)]
            assert (await body(one), await body(two), await fetch(client, wire.url)) == (b"ok", b"ok", b"ok")
            assert wire.connections == 2

    @pytest.mark.parametrize("name", [b"Connection: close", b"connection: Close"])
    async def test_not_when_the_server_says_so(self, client: HttpClient, name: bytes) -> None:
        answer = OK.replace(b"Content", name + b"\r\nContent")
        async with HttpWire(answer, OK) as wire:
            await fetch(client, wire.url)
            await fetch(client, wire.url)
            assert wire.connections == 2

    async def test_not_when_the_body_was_left(self, client: HttpClient) -> None:
        async with HttpWire(CHUNKED, OK) as wire:
            async with await client.send("GET", wire.url, {}):
                pass
            assert await fetch(client, wire.url) == b"ok"
            assert wire.connections == 2

    async def test_not_after_more_than_was_asked_for(self, client: HttpClient) -> None:
        async with HttpWire(OK + OK, OK) as wire:
            await fetch(client, wire.url)
            assert await fetch(client, wire.url) == b"ok"
            assert wire.connections == 2

    async def test_not_for_longer_than_a_while(self, client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(http_client, "_KEPT_SECONDS", 0.0)
        async with HttpWire(OK, OK) as wire:
            await fetch(client, wire.url)
            await asyncio.sleep(0.01)
            assert client._idle == {}
            await fetch(client, wire.url)
            assert wire.connections == 2

    async def test_asked_again_when_the_server_was_ending_it(self, client: HttpClient) -> None:
        async with HttpWire(OK, HANG_UP, OK) as wire:
            await fetch(client, wire.url)
            assert await fetch(client, wire.url) == b"ok"
            assert (wire.connections, len(wire.requests)) == (2, 3)

    async def test_but_not_what_may_have_been_done(self, client: HttpClient) -> None:
        async with HttpWire(OK, HANG_UP) as wire:
            await fetch(client, wire.url)
            with pytest.raises(HttpError, match=r"^EOF$"):
                await fetch(client, wire.url, "POST", body=b"x")

    async def test_released_twice_it_is_kept_once(self, client: HttpClient) -> None:
        async with HttpWire(OK, OK) as wire:
            answer = await client.send("GET", wire.url, {})
            await body(answer)
            answer.release()
            assert await fetch(client, wire.url) == b"ok"
            assert wire.connections == 1


async def test_closing_ends_what_is_under_way(client: HttpClient) -> None:
    async with HttpWire(CHUNKED) as wire:
        answer = await client.send("GET", wire.url, {})
        reading = asyncio.ensure_future(body(answer))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(HttpError):
            await reading
        assert client._open == set()


async def test_a_slow_reader_holds_the_server_back(client: HttpClient) -> None:
    size = 40 * 1024 * 1024
    async with HttpWire(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)) as wire:
        answer = await client.send("GET", wire.url, {})
        await asyncio.sleep(0.05)
        assert answer._waiting < 2 * 1024 * 1024
        assert len(await body(answer)) == size


async def test_gzip_in_many_pieces_and_members() -> None:
    data = bytes(range(256)) * 5000
    packed = gzip.compress(data) + gzip.compress(b"") + gzip.compress(b"end")
    for step in (1, 7, 10_000_000):
        unpack = Gunzip()
        pieces = [piece for at in range(0, len(packed), step) for piece in unpack.feed(packed[at : at + step])]
        assert (b"".join(pieces), unpack.whole) == (data + b"end", True)


def test_a_small_bomb_makes_pieces_of_a_bounded_size() -> None:
    bomb = zlib.compress(bytes(64 * 1024 * 1024), wbits=31)
    sizes = [len(piece) for piece in Gunzip().feed(bomb)]
    assert sum(sizes) == 64 * 1024 * 1024
    assert max(sizes) <= 256 * 1024


class TestDialling:
    async def test_nobody_listens(self, client: HttpClient) -> None:
        with closed_port() as port, pytest.raises(HttpError) as caught:
            await fetch(client, f"http://127.0.0.1:{port}/")
        assert str(caught.value) == f"dial tcp 127.0.0.1:{port}: connect: connection refused"

    async def test_no_such_host(self, client: HttpClient) -> None:
        with pytest.raises(HttpError, match=r"^dial tcp: lookup no\.such\.invalid: no such host$"):
            await fetch(client, "http://no.such.invalid:1/")

    async def test_a_server_that_is_not_reached_in_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def never(*_: object, **__: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
        with pytest.raises(HttpError, match=r"^dial tcp 192\.0\.2\.1:80: i/o timeout$"):
            await fetch(HttpClient(0.01), "http://192.0.2.1/")

    async def test_https_without_a_context_asks_the_systems_roots(self, client: HttpClient) -> None:
        async with HttpWire(OK, tls=server_context()) as wire:
            with pytest.raises(HttpError, match=r"^tls: failed to verify certificate: x509: "):
                await fetch(client, wire.url)

    async def test_not_tls_at_all(self, client: HttpClient) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(OK)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            with pytest.raises(HttpError, match=r"^tls: .*WRONG_VERSION_NUMBER"):
                await fetch(client, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", way=trusting())

    async def test_a_connection_that_ends_before_tls(self, client: HttpClient) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(HttpError, match=rf"^dial tcp 127\.0\.0\.1:{port}: connect: [a-zE]"):
                await fetch(client, f"https://127.0.0.1:{port}/", way=trusting())


class TestThroughAProxy:
    async def test_plain_requests_name_the_server(self, client: HttpClient) -> None:
        async with HttpWire(OK) as proxy:
            way = Way(proxy=f"http://u:p@127.0.0.1:{proxy.port}")
            assert await fetch(client, "http://api.example/x?y", way=way) == b"ok"
        head = "GET http://api.example/x?y HTTP/1.1\r\nHost: api.example\r\nProxy-Authorization: Basic dTpw\r\n\r\n"
        assert proxy.requests == [head.encode()]

    @pytest.mark.parametrize("secure", [False, True])
    async def test_tls_goes_through_a_tunnel(self, client: HttpClient, secure: bool) -> None:
        async with HttpWire(OK, OK, tls=server_context()) as wire:
            established = b"HTTP/1.1 200 Connection established\r\n\r\n"
            tls = server_context() if secure else None
            async with HttpWire(established, tunnel=wire.port, tls=tls) as proxy:
                way = trusting(proxy.url)
                assert way.tls is not None
                way.tls.check_hostname = not secure  # the proxy has the same certificate
                assert await fetch(client, wire.url, way=way) == b"ok"
                assert await fetch(client, wire.url, way=way) == b"ok"
                there = f"127.0.0.1:{wire.port}"
                assert proxy.requests == [f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n".encode()]
                assert wire.connections == 1
                await client.close()

    async def test_one_that_refuses(self, client: HttpClient) -> None:
        async with HttpWire(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as proxy:
            with pytest.raises(HttpError, match=rf"^proxyconnect tcp: 127\.0\.0\.1:{proxy.port} answers 407$"):
                await fetch(client, "https://api.example/", way=trusting(proxy.url))


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    return context


def trusting(proxy: str = "") -> Way:
    return Way(client_context(files_of([str(TLS / "ca.pem")])), "kubernetes.default.svc", proxy)
