"""The HTTP server over real sockets on loopback, asked with aiohttp's client and with raw bytes."""

from __future__ import annotations

import asyncio
import io
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from support.chain import FakeLender
from waypost.httpd import probe, server
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer, check_address, lend_server
from waypost.httpd.socket import ListenError
from waypost.log import Log


@pytest.fixture
async def http() -> AsyncIterator[HttpServer]:
    one = HttpServer("127.0.0.1:0", Log(io.StringIO()))
    await one.start()
    yield one
    await one.close()


def hello(request: HttpRequest) -> HttpResponse:
    return plain(200, f"{request.method} {request.path} {request.query} {request.headers.get('X-A', '')}")


async def fetch(port: int, path: str, method: str = "GET", **kwargs: object) -> tuple[int, str, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://127.0.0.1:{port}{path}", **kwargs) as response,  # type: ignore[arg-type]
    ):
        return response.status, response.headers["Content-Type"], await response.text()


async def raw(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_routes_by_exact_path(http: HttpServer) -> None:
    http.set_route("/a", hello)
    text = "text/plain; charset=utf-8"
    assert await fetch(http.port, "/a?x=1", headers={"x-a": "y"}) == (200, text, "GET /a x=1 y")
    assert await fetch(http.port, "/a", "POST", data=b"z" * 300_000) == (200, text, "POST /a  ")
    assert await fetch(http.port, "/a", "HEAD") == (200, text, "")
    assert await fetch(http.port, "/a/b") == (404, text, "404 page not found\n")
    assert await fetch(http.port, "/") == (404, text, "404 page not found\n")


async def test_awaits_handlers_and_sends_their_headers(http: HttpServer) -> None:
    async def later(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0)
        return HttpResponse(418, "text/x", b"t", (("X-B", "c"),))

    http.set_route("/a", later)
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{http.port}/a") as response:
        assert (response.status, response.headers["X-B"], await response.read()) == (418, "c", b"t")
        assert response.headers["Server"] == "waypost"


async def test_a_failing_handler_is_logged_once_and_answered() -> None:
    stream = io.StringIO()
    http = HttpServer("127.0.0.1:0", Log(stream))
    await http.start()
    http.set_route("/a", lambda request: 1 // 0)  # type: ignore[arg-type, return-value]
    try:
        for _ in range(2):
            assert (await fetch(http.port, "/a"))[0] == 500
    finally:
        await http.close()
    assert stream.getvalue() == "[ERROR] http://127.0.0.1:0/a: ZeroDivisionError: integer division or modulo by zero\n"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHo st: \x00\r\n\r\n",
        b"\x16\x03\x01junk\r\n\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100 + b"\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"b" * 9000 + b"\r\n\r\n",
        b"GET http://[::bad/ HTTP/1.1\r\n\r\n",
    ],
    ids=["header", "tls", "line", "headers", "long header", "url"],
)
async def test_malformed_requests_are_refused_silently(
    http: HttpServer, data: bytes, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert b" 400 " in (await raw(http.port, data)).split(b"\r\n")[0]
    assert capsys.readouterr().err == ""
    assert caplog.records == []


async def test_idle_and_slow_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_IDLE_SECONDS", 0.01)
    monkeypatch.setattr(server, "_CONNECTION_SECONDS", 0.05)
    http = HttpServer("127.0.0.1:0", Log(io.StringIO()))
    await http.start()
    try:
        assert await raw(http.port, b"") == b""
        assert await raw(http.port, b"GET / HTT") == b""
    finally:
        await http.close()


async def test_too_many_connections_are_refused(http: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MAX_CONNECTIONS", 1)
    http.set_route("/a", hello)
    _, first = await asyncio.open_connection("127.0.0.1", http.port)
    try:
        with pytest.raises(aiohttp.ClientError):
            await fetch(http.port, "/a")
    finally:
        first.close()


async def test_address_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match=f"^listen tcp {address}: bind: address already in use$"):
            await HttpServer(address, Log(io.StringIO())).start()


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("203.0.113.77:80", "listen tcp 203.0.113.77:80: bind: cannot assign requested address"),
        ("no.such.invalid:80", "listen tcp: lookup no.such.invalid: no such host"),
    ],
)
async def test_addresses_that_are_not_ours(address: str, text: str) -> None:
    with pytest.raises(ListenError) as caught:
        await HttpServer(address, Log(io.StringIO())).start()
    assert str(caught.value) == text


async def test_two_servers_share_a_port(http: HttpServer) -> None:
    other = HttpServer(f"127.0.0.1:{http.port}", Log(io.StringIO()))
    await other.start()
    await other.close()


@pytest.mark.parametrize("address", [":0", "[::1]:0", "localhost:0", "0.0.0.0:0"])
async def test_kinds_of_address(address: str) -> None:
    http = HttpServer(address, Log(io.StringIO()))
    await http.start()
    try:
        host = "::1" if "::1" in address else "127.0.0.1"
        assert await probe.get(host, http.port, "/", 5) == 404
    finally:
        await http.close()


async def test_start_twice_close_and_start_again() -> None:
    http = HttpServer("127.0.0.1:0", Log(io.StringIO()))
    await asyncio.gather(http.start(), http.start())
    port = http.port
    await http.close()
    await http.close()
    with pytest.raises(OSError):
        await probe.get("127.0.0.1", port, "/", 5)
    await http.start()
    assert await probe.get("127.0.0.1", http.port, "/", 5) == 404
    await http.close()


def test_a_route_is_removed_by_its_owner_only() -> None:
    http = HttpServer(":0", Log(io.StringIO()))
    http.set_route("/a", hello)
    http.remove_route("/a", lambda request: plain(200, ""))
    assert http.routes == {"/a": hello}
    http.remove_route("/a", hello)
    http.remove_route("/a", hello)
    assert http.routes == {}


def test_one_server_for_an_address() -> None:
    lender, log = FakeLender(), Log(io.StringIO())
    assert lend_server(lender, ":80", log) is lend_server(lender, ":80", log)
    assert lend_server(lender, ":80", log) is not lend_server(lender, ":81", log)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("127.0.0.1", "address 127.0.0.1: missing port in address"),
        ("127.0.0.1:x", "address x: invalid port"),
        (":99999", "address 99999: invalid port"),
        (
            "fd00::10:9254",
            "address fd00::10:9254: too many colons in address (an IPv6 address needs brackets: [fd00::10]:9254)",
        ),
        ("[::1]", "address [::1]: missing port in address"),
        ("", "missing port in address"),
    ],
)
def test_addresses_refused(text: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_address(text)
    assert str(caught.value) == error


@pytest.mark.parametrize("text", [":8080", "[::1]:8080", "[fe80::1%eth0]:80", "localhost:9153", "0.0.0.0:0"])
def test_addresses_taken(text: str) -> None:
    assert check_address(text) == text


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0\r\n", b"HTTP/1.1 abc\r\n", b"x" * 5000])
async def test_probe_of_something_else(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as other:
        with pytest.raises(OSError, match="malformed HTTP response"):
            await probe.get("127.0.0.1", other.sockets[0].getsockname()[1], "/", 5)
