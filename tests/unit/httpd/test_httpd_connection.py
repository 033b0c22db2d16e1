"""Connections of the HTTP server, byte by byte, where a polite client would not go."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator

import pytest

from waypost.httpd import connection
from waypost.httpd.connection import Headers
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer
from waypost.log import Log

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture
async def http() -> AsyncIterator[HttpServer]:
    one = HttpServer("127.0.0.1:0", Log(io.StringIO()))
    await one.start()
    one.set_route("/a", lambda request: plain(200, f"{request.method} {request.path} {request.query}"))
    yield one
    await one.close()


async def talk(http: HttpServer, *sent: bytes) -> bytes:
    """Everything that comes back until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", http.port)
    for data in sent:
        writer.write(data)
        await asyncio.sleep(0.001)
    said = await reader.read()
    writer.close()
    return said


def statuses(said: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", said)]


async def test_an_answer_whole(http: HttpServer) -> None:
    said = await talk(http, LAST)
    said, count = re.subn(rb"Date: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\r\n", b"", said)
    assert count == 1
    assert said == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n"
        b"Server: waypost\r\nConnection: close\r\n\r\nGET /a "
    )


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_requests_in_any_pieces_are_answered_in_their_order(http: HttpServer, size: int) -> None:
    data = GET + GET.replace(b"/a", b"/b?c") + b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc" + LAST
    said = await talk(http, *(data[at : at + size] for at in range(0, len(data), size)))
    assert statuses(said) == [200, 404, 200, 200]
    assert b"POST /a " in said


async def test_a_chunked_body_is_dropped(http: HttpServer) -> None:
    head = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert statuses(await talk(http, head + b"3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n" + LAST)) == [200, 200]


async def test_head_has_the_length_and_no_body(http: HttpServer) -> None:
    said = await talk(http, LAST.replace(b"GET", b"HEAD"))
    assert b"Content-Length: 8\r\n" in said
    assert said.endswith(b"\r\n\r\n")


async def test_who_waits_for_leave_gets_it(http: HttpServer) -> None:
    head = b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n\r\n"
    assert statuses(await talk(http, head, b"x")) == [100, 200]


async def test_an_upgrade_is_declined_by_an_answer(http: HttpServer) -> None:
    said = await talk(http, b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI")
    assert statuses(said) == [200]
    assert b"Connection: close\r\n" in said


@pytest.mark.parametrize(
    ("request_line", "path", "query"),
    [
        (b"GET /%61%20b?c=%64 HTTP/1.1", "/a b", "c=%64"),
        (b"GET http://h:1/a?b#c HTTP/1.1", "/a", "b"),
        (b"GET //x/y HTTP/1.1", "//x/y", ""),
        (b"OPTIONS * HTTP/1.1", "*", ""),
        (b"GET /%ff HTTP/1.1", "/\N{REPLACEMENT CHARACTER}", ""),
    ],
)
async def test_targets(http: HttpServer, request_line: bytes, path: str, query: str) -> None:
    asked: list[HttpRequest] = []

    def handler(request: HttpRequest) -> HttpResponse:
        asked.append(request)
        return plain(200, "")

    http.set_route(path, handler)
    await talk(http, request_line + b"\r\nConnection: close\r\n\r\n")
    assert [(request.path, request.query) for request in asked] == [(path, query)]


@pytest.mark.parametrize(
    "data",
    [
        b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"POST /a HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        b"POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
        b"GET /a HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(65)) + b"\r\n",
        b"GET /" + b"a" * 400_000,
        b"GET / HTTP/1.1\r\nA: " + b"a" * 400_000,
        b"\r\n" * 200_000,
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"a" * 400_000,
    ],
    ids=["connect", "h2", "bytes", "smuggled", "lengths", "count", "endless line", "endless field", "nothing", "chunk"],
)
async def test_what_is_no_request_is_refused_after_what_was_one(http: HttpServer, data: bytes) -> None:
    said = await talk(http, GET, data + LAST)
    assert statuses(said) == [200, 400]
    assert said.endswith(b"400 bad request\n")


async def test_a_response_with_a_line_break_in_a_field_is_a_fault(http: HttpServer) -> None:
    http.set_route("/a", lambda request: HttpResponse(302, "text/plain", b"", (("Location", "/\r\nX: y"),)))
    assert statuses(await talk(http, LAST)) == [500]


async def test_a_number_without_a_phrase_and_an_answer_without_a_body(http: HttpServer) -> None:
    http.set_route("/a", lambda request: HttpResponse(299, "text/plain", b"x"))
    http.set_route("/b", lambda request: HttpResponse(204, "text/plain", b"x"))
    said = await talk(http, GET, LAST.replace(b"/a", b"/b"))
    assert statuses(said) == [299, 204]
    assert said.endswith(b"\r\n\r\n")


async def test_old_clients(http: HttpServer) -> None:
    assert statuses(await talk(http, b"GET /a HTTP/1.0\r\n\r\n")) == [200]
    said = await talk(http, b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", b"GET /a HTTP/1.0\r\n\r\n")
    assert (statuses(said), said.count(b"Connection: keep-alive\r\n")) == ([200, 200], 1)


async def test_who_does_not_read_is_not_written_to_for_ever(http: HttpServer) -> None:
    made = 0

    def large(request: HttpRequest) -> HttpResponse:
        nonlocal made
        made += 1
        return HttpResponse(200, "text/plain", bytes(1024 * 1024))

    http.set_route("/a", large)
    _, writer = await asyncio.open_connection("127.0.0.1", http.port, limit=1024)
    writer.write(GET * 200)
    await asyncio.sleep(0.1)
    assert 0 < made < 50
    writer.transport.abort()


async def test_closing_lets_what_is_being_answered_end(http: HttpServer) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: HttpRequest) -> HttpResponse:
        begun.set()
        await go.wait()
        return plain(200, "done")

    http.set_route("/a", slow)
    talking = asyncio.ensure_future(talk(http, GET + GET))
    await begun.wait()
    closing = asyncio.ensure_future(http.close())
    await asyncio.sleep(0)
    go.set()
    await closing
    said = await talking
    assert statuses(said) == [200]
    assert b"Connection: close\r\n" in said


async def test_closing_does_not_wait_for_ever(http: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.httpd.server._LINGER_SECONDS", 0.01)
    begun = asyncio.Event()

    async def never(request: HttpRequest) -> HttpResponse:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    http.set_route("/a", never)
    talking = asyncio.ensure_future(talk(http, GET))
    await begun.wait()
    await http.close()
    assert await talking == b""
    assert http._connections == set()


async def test_who_leaves_meanwhile_is_not_answered(http: HttpServer) -> None:
    begun, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(request: HttpRequest) -> HttpResponse:
        begun.set()
        await go.wait()
        ended.set()
        return plain(200, "")

    http.set_route("/a", slow)
    _, writer = await asyncio.open_connection("127.0.0.1", http.port)
    writer.write(GET + GET)
    await begun.wait()
    writer.transport.abort()
    (one,) = http._connections
    while not one._transport.is_closing():
        one._transport.resume_reading()
        await asyncio.sleep(0.001)
    go.set()
    await ended.wait()
    await asyncio.sleep(0)
    assert http._connections == set()


async def test_who_does_not_hang_up_is_hung_up_on(http: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LINGER_SECONDS", 0.01)
    reader, writer = await asyncio.open_connection("127.0.0.1", http.port)
    writer.write(LAST)
    await reader.read()
    while http._connections:
        writer.write(b"more")
        await asyncio.sleep(0.001)
    writer.close()


def test_fields_are_looked_up_in_any_case() -> None:
    headers = Headers({"x-a": "b"})
    assert (headers["X-A"], headers.get("x-a"), "X-a" in headers, "X-B" in headers) == ("b", "b", True, False)
    assert (dict(headers), len(headers)) == ({"x-a": "b"}, 1)
