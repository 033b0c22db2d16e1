"""What comes of a call to a gRPC upstream."""

from __future__ import annotations

import asyncio

import dns.message
import pytest

from support.chain import make_wire
from waypost.toolkit import dnspacket
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstream_grpc import GrpcExchange
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import parse_query

WIRE = make_wire("example.org.")
HEADERS = [(b":status", b"200"), (b"content-type", b"application/grpc")]


def reply_wire(name: str = "example.org.") -> bytes:
    message = dns.message.make_response(dns.message.from_wire(make_wire(name)))
    return message.to_wire()


def exchange() -> GrpcExchange:
    loop = asyncio.new_event_loop()
    made = GrpcExchange(parse_query(WIRE), loop.create_future(), dnspacket.pack(WIRE))
    loop.close()
    return made


def outcome(status: bytes, body: bytes = b"", text: bytes = b"") -> Message | UpstreamError:
    call = exchange()
    assert call.begin(HEADERS) is None
    assert call.feed(body) is None
    assert call.trail([(b"grpc-status", status), (b"grpc-message", text)]) is None
    return call.reply()


def test_a_reply() -> None:
    message = outcome(b"0", dnspacket.pack(reply_wire()))
    assert isinstance(message, Message)
    assert message.rcode == consts.NOERROR


def test_not_found_is_nxdomain() -> None:
    message = outcome(b"5")
    assert isinstance(message, Message)
    assert (message.rcode, message.flags & consts.RD) == (consts.NXDOMAIN, consts.RD)


def test_a_call_that_fails_at_once() -> None:
    call = exchange()
    assert call.begin([*HEADERS, (b"grpc-status", b"14"), (b"grpc-message", b"go%20away")]) is None
    assert str(call.reply()) == "rpc error: code = 14 desc = go away"


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (b"2", b"", "rpc error: code = 2 desc = "),
        (b"", b"", "rpc error: code = none desc = "),
        (b"0", b"", "bad reply: expected one whole message"),
        (b"0", dnspacket.pack(b"what?"), "bad reply: message shorter than its header"),
    ],
)
def test_errors(status: bytes, body: bytes, error: str) -> None:
    assert str(outcome(status, body)) == error


def test_another_question() -> None:
    assert isinstance(outcome(b"0", dnspacket.pack(reply_wire("example.com."))), Mismatch)


@pytest.mark.parametrize(
    "headers",
    [
        [(b":status", b"503"), (b"content-type", b"application/grpc")],
        [(b":status", b"200"), (b"content-type", b"text/html")],
        [],
    ],
)
def test_no_grpc(headers: list[tuple[bytes, bytes]]) -> None:
    assert isinstance(exchange().begin(headers), UpstreamError)


def test_a_response_without_end() -> None:
    call = exchange()
    call.begin(HEADERS)
    assert call.feed(bytes(dnspacket.MAX_FRAME)) is None
    assert isinstance(call.feed(b"x"), UpstreamError)
