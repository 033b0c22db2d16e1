"""HTTP/1.1 without a socket."""

from __future__ import annotations

import pytest

from waypost.listeners.h1conn import Http1Codec
from waypost.listeners.http import Asked, HttpRequest, HttpResponse

GET = b"GET /dns-query?dns=AAAA HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
OK = HttpResponse(200, ((b"content-type", b"text/plain"),), b"hello")


def requests(codec: Http1Codec, data: bytes) -> list[HttpRequest]:
    return [event.request for event in codec.receive(data, 0.0) if isinstance(event, Asked)]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_cut_anywhere(size: int) -> None:
    codec = Http1Codec(10)
    seen = []
    for start in range(0, len(POST), size):
        seen += requests(codec, POST[start : start + size])
    (request,) = seen
    assert request == HttpRequest(b"POST", b"/dns-query", {b"host": b"a", b"content-length": b"3"}, b"abc")


def test_a_response() -> None:
    codec = Http1Codec(10)
    requests(codec, GET)
    codec.send(0, OK)
    assert codec.data_to_send() == b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"
    assert not codec.closing


def test_requests_wait_for_the_responses_before() -> None:
    codec = Http1Codec(10)
    assert len(requests(codec, GET + POST + GET)) == 1
    assert requests(codec, b"") == []
    codec.send(0, OK)
    assert requests(codec, b"")[0].body == b"abc"
    codec.send(0, OK)
    assert requests(codec, b"")[0].method == b"GET"


def test_incomplete() -> None:
    codec = Http1Codec(10)
    assert not codec.incomplete
    requests(codec, GET[:9])
    assert codec.incomplete
    requests(codec, GET[9:])
    codec.send(0, OK)
    assert not codec.incomplete
    requests(codec, POST[:-1])
    assert codec.incomplete


def test_the_client_closes_behind_its_request() -> None:
    codec = Http1Codec(10)
    requests(codec, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert not codec.closing
    codec.send(0, OK)
    assert codec.closing
    assert b"connection: close" in codec.data_to_send().lower()


def test_goodbye_lets_the_response_pass() -> None:
    codec = Http1Codec(10)
    requests(codec, GET)
    codec.say_goodbye()
    assert not codec.closing
    codec.send(0, OK)
    assert b"connection: close" in codec.data_to_send()
    assert codec.closing


def test_a_body_that_is_too_long_is_not_kept() -> None:
    codec = Http1Codec(10)
    (request,) = requests(codec, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + bytes(11))
    assert request.body is None
    codec.send(0, OK)
    assert codec.closing


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00" + bytes(20) + b"\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 20_000, b"431"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20_000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_request(data: bytes, status: bytes) -> None:
    codec = Http1Codec(10)
    assert requests(codec, data) == []
    assert codec.data_to_send().startswith(b"HTTP/1.1 " + status)
    assert codec.closing
    assert requests(codec, GET) == []


def test_a_client_that_asks_whether_to_send_the_body() -> None:
    codec = Http1Codec(10)
    requests(codec, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
    assert codec.data_to_send().startswith(b"HTTP/1.1 100 ")
    assert requests(codec, b"abc")[0].body == b"abc"
