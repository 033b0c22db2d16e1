"""Which gRPC calls are queries, and what answers are as responses."""

from __future__ import annotations

import dns.message
import pytest

from support.listening import World, query, response
from waypost.listeners.grpc import GrpcService, message_of, response_of
from waypost.listeners.http import HttpRequest, HttpResponse, Peer
from waypost.toolkit import dnspacket

TYPE = {b"content-type": b"application/grpc", b"te": b"trailers"}
PATH = b"/coredns.dns.DnsService/Query"
WIRE = query("example.org.", 7)


def call(body: bytes | None, path: bytes = PATH, kind: bytes = b"application/grpc") -> HttpRequest:
    return HttpRequest(b"POST", path, {b"content-type": kind}, body)


def status_of(answer: HttpResponse) -> tuple[bytes, bytes]:
    fields = dict((*answer.headers, *answer.trailers))
    return fields[b"grpc-status"], fields.get(b"grpc-message", b"")


@pytest.mark.parametrize("kind", [b"application/grpc", b"application/grpc+proto", b"application/grpc;x=y"])
def test_a_query(kind: bytes) -> None:
    assert message_of(call(dnspacket.pack(WIRE), kind=kind)) == WIRE


@pytest.mark.parametrize(
    ("request_", "status", "text"),
    [
        (call(dnspacket.pack(WIRE), b"/grpc.health.v1.Health/Check"), b"12", b"there is no method but " + PATH),
        (call(None), b"8", b"message above 65535 bytes"),
        (call(b""), b"2", b"expected one whole message"),
        (call(dnspacket.pack(WIRE)[:-1]), b"2", b"expected one whole message"),
        (call(dnspacket.pack(WIRE) * 2), b"2", b"expected one whole message"),
        (call(b"\1" + dnspacket.pack(WIRE)[1:]), b"12", b"the message is compressed"),
        (call(dnspacket.pack(b"")), b"2", b"dns request rejected"),
        (call(dnspacket.pack(b"what?")), b"2", b"dns request rejected"),
        (call(dnspacket.pack(response())), b"2", b"dns request rejected"),
        (call(b"\0\0\0\0\1\x0b"), b"2", b"a field of kind 3 cannot be read"),
    ],
)
def test_no_query(request_: HttpRequest, status: bytes, text: bytes) -> None:
    answer = message_of(request_)
    assert isinstance(answer, HttpResponse)
    assert (answer.status, answer.body) == (200, b"")
    assert status_of(answer) == (status, text)


@pytest.mark.parametrize(
    "request_",
    [
        call(dnspacket.pack(WIRE), kind=b"text/plain"),
        call(dnspacket.pack(WIRE), kind=b"application/grpc+json"),
        HttpRequest(b"GET", PATH, TYPE),
    ],
)
def test_no_grpc(request_: HttpRequest) -> None:
    answer = message_of(request_)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 415


def test_an_answer() -> None:
    world = World()
    answer = GrpcService().respond(call(dnspacket.pack(WIRE)), world.server, Peer(("192.0.2.9", 1), None))
    assert isinstance(answer, HttpResponse)
    assert dict(answer.headers) == {b"content-type": b"application/grpc"}
    assert status_of(answer) == (b"0", b"")
    assert dns.message.from_wire(dnspacket.unpack(answer.body)).id == 7
    assert not world.plugin.seen[0].datagram


async def test_later() -> None:
    world = World()
    waiting = GrpcService().respond(call(dnspacket.pack(query("slow."))), world.server, Peer(("192.0.2.9", 1), None))
    assert not isinstance(waiting, HttpResponse)
    world.plugin.waiting[b"slow"].set()
    assert status_of(await waiting) == (b"0", b"")


def test_silence_is_an_error() -> None:
    assert status_of(response_of(None)) == (b"13", b"No response")
    assert status_of(response_of((WIRE, WIRE))) == (b"13", b"No response")
