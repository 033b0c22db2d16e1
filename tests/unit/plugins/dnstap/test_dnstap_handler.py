"""What dnstap tells of each way in which a query can end."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, make_wire
from support.dnstap import decode
from waypost.dispatch.handler import Handler, Outcome, link, settled
from waypost.dispatch.request import Request
from waypost.dispatch.serve import Server
from waypost.dispatch.trace import Trace
from waypost.log import Log
from waypost.plugins.dnstap.handler import Dnstap, Form
from waypost.plugins.dnstap.payload import Envelope
from waypost.plugins.dnstap.setup import setup
from waypost.toolkit.upstream_tap import Forwarded, UpstreamTap
from waypost.wire import consts
from waypost.wire.record import address
from waypost.wire.reply import DROP, Reply, failure

NAME = b"\x07example\x03org\x00"
ANSWER = Reply(consts.NOERROR, consts.AA, (address(NAME, 5, b"\x0a\0\0\x01"),))
SECOND = 10**9


@dataclass
class FakeOutlet:
    """Keeps what it is sent."""

    room: bool = True
    payloads: list[bytes] = field(default_factory=list)

    def wants(self) -> bool:
        return self.room

    def send(self, payload: bytes) -> None:
        assert self.room
        self.payloads.append(payload)

    async def start(self) -> None:
        pass

    @property
    def messages(self) -> list[Any]:
        return [decode(payload).message for payload in self.payloads]


def tapped(reply: Reply, *, later: bool = False, full: bool = False) -> tuple[Dnstap, FakeOutlet]:
    outlet = FakeOutlet()
    tap = Dnstap(outlet, Form(full, Envelope(b"me", b"1")))
    link([tap, FakeNext(reply, later=later)])
    return tap, outlet


@pytest.mark.parametrize("later", [False, True])
async def test_query_and_reply(later: bool) -> None:
    tap, outlet = tapped(ANSWER, later=later)
    outcome = tap.serve(make_request())
    assert [message.type for message in outlet.messages] == ([5] if later else [5, 6])
    assert await settled(outcome) is ANSWER
    query, reply = outlet.messages
    assert (query.type, reply.type) == (5, 6)
    for message in (query, reply):
        assert (message.socket_family, message.socket_protocol, message.query_port) == (1, 1, 40000)
        assert message.query_address == socket.inet_aton("192.0.2.9")
        assert not message.HasField("query_message")
        assert not message.HasField("response_message")
    assert (query.query_time_sec, query.query_time_nsec) == (reply.query_time_sec, reply.query_time_nsec)
    asked = query.query_time_sec * SECOND + query.query_time_nsec
    assert reply.response_time_sec * SECOND + reply.response_time_nsec >= asked
    assert not query.HasField("response_time_sec")


async def test_full_messages_are_those_on_the_wire() -> None:
    tap, outlet = tapped(ANSWER, full=True)
    wire = make_wire(bufsize=1400, do=True)
    await settled(tap.serve(make_request(wire=wire)))
    query, reply = outlet.messages
    assert query.query_message == wire
    message = dns.message.from_wire(reply.response_message)
    assert message.id == dns.message.from_wire(wire).id
    assert message.answer[0].to_text() == "example.org. 5 IN A 10.0.0.1"
    assert not reply.HasField("query_message")


@pytest.mark.parametrize(
    ("outcome", "rcode"),
    [
        (failure(consts.SERVFAIL, "x"), "SERVFAIL"),
        (failure(consts.REFUSED), "REFUSED"),
        (Reply(consts.NXDOMAIN, 0), "NXDOMAIN"),
        (DROP, None),
    ],
)
async def test_what_the_client_gets_is_told(outcome: Reply, rcode: str | None) -> None:
    tap, outlet = tapped(outcome, full=True)
    await settled(tap.serve(make_request()))
    replies = [dns.message.from_wire(message.response_message) for message in outlet.messages[1:]]
    assert [dns.rcode.to_text(reply.rcode()) for reply in replies] == ([rcode] if rcode else [])


async def test_a_truncated_reply_is_told_truncated() -> None:
    records = tuple(address(NAME, 5, bytes([10, 0, 0, n])) for n in range(100))
    tap, outlet = tapped(Reply(consts.NOERROR, 0, records), full=True)
    await settled(tap.serve(make_request()))
    assert dns.message.from_wire(outlet.messages[1].response_message).flags & dns.flags.TC


async def test_each_message_of_a_transfer() -> None:
    first = ANSWER.replace(more=(ANSWER, ANSWER))
    tap, outlet = tapped(first, full=True)
    await settled(tap.serve(make_request(datagram=False)))
    assert [message.type for message in outlet.messages] == [5, 6, 6, 6]


@pytest.mark.parametrize(
    ("scheme", "datagram", "protocol"),
    [("dns", True, 1), ("dns", False, 2), ("tls", False, 3), ("https", False, 4), ("https3", True, 4),
     ("quic", True, 7), ("grpc", False, 2)],
)  # fmt: skip
async def test_protocols(scheme: str, datagram: bool, protocol: int) -> None:
    tap, outlet = tapped(ANSWER)
    request = make_request(client=("2001:db8::1%eth0", 5, 0, 2), datagram=datagram)
    request.server = Server(scheme, "", "53", Log(FakeProcess().stream), FakeProcess().metrics)
    await settled(tap.serve(request))
    query = outlet.messages[0]
    assert (query.socket_family, query.socket_protocol) == (2, protocol)
    assert query.query_address == socket.inet_pton(socket.AF_INET6, "2001:db8::1")


async def test_a_query_that_is_explained_is_nobodys() -> None:
    tap, outlet = tapped(ANSWER)
    request = make_request()
    request.trace = Trace()
    assert await settled(tap.serve(request)) is ANSWER
    tap.forwarded(request, Forwarded("192.0.2.1", 53, "dns", False, 1, 2, ANSWER))
    assert outlet.payloads == []


async def test_no_work_for_a_receiver_that_is_away() -> None:
    tap, outlet = tapped(ANSWER, full=True)
    outlet.room = False
    assert await settled(tap.serve(make_request())) is ANSWER
    assert outlet.payloads == []


@pytest.mark.parametrize(("scheme", "stream", "protocol"), [("dns", False, 1), ("dns", True, 2), ("tls", True, 3)])
def test_upstreams(scheme: str, stream: bool, protocol: int) -> None:
    tap, outlet = tapped(ANSWER, full=True)
    assert isinstance(tap, UpstreamTap)
    request = make_request()
    tap.forwarded(request, Forwarded("2001:db8::1", 53, scheme, stream, 3 * SECOND, 4 * SECOND + 5, ANSWER))
    tap.forwarded(request, Forwarded("192.0.2.1", 53, scheme, stream, 3 * SECOND, 4 * SECOND, None))
    query, reply, lost = outlet.messages
    assert [query.type, reply.type, lost.type] == [7, 8, 7]
    assert query.query_message == request.query.wire
    for message in (query, reply):
        assert (message.socket_family, message.socket_protocol, message.response_port) == (2, protocol, 53)
        assert message.response_address == socket.inet_pton(socket.AF_INET6, "2001:db8::1")
        assert message.query_time_sec == 3
    assert (reply.response_time_sec, reply.response_time_nsec) == (4, 5)
    assert len(dns.message.from_wire(reply.response_message).answer) == 1
    assert lost.response_address == socket.inet_aton("192.0.2.1")


class Rewriting:
    """Replaces the query as a plugin does that caps the client's size."""

    name = "rewriting"
    next: Handler

    def serve(self, request: Request) -> Outcome:
        request.query = request.query.asking(b"\x05other\x00", consts.TYPE_A)
        return ANSWER


async def test_the_query_is_told_as_the_client_sent_it() -> None:
    outlet = FakeOutlet()
    tap = Dnstap(outlet, Form(True, Envelope(b"", b"")))
    link([tap, Rewriting()])
    await settled(tap.serve(make_request()))
    assert str(dns.message.from_wire(outlet.messages[1].response_message).question[0].name) == "example.org."


@pytest.mark.parametrize(
    ("option", "extra"),
    [
        ("", ""),
        ("extra fixed", "fixed"),
        ('extra "{name} {type} {remote}:{port} {proto} {>id}"', "example.org. A 192.0.2.9:40000 udp {id}"),
        ('extra "{rcode} {rsize} {>rflags} {duration} {/a/b} {/a/c} {other}"', "- - - - value - {other}"),
        ('extra "{common}"', '192.0.2.9:40000 - {id} "A IN example.org. udp 29 false 512" - - - -'),
    ],
)
async def test_extra_text(option: str, extra: str) -> None:
    site = make_site()
    setup(make_directive(f"dnstap a {{\n identity me\n version v\n {option}\n}}"), site)
    tap = site.all_handlers()[0]
    assert isinstance(tap, Dnstap)
    outlet = FakeOutlet()
    tap._outlet = outlet
    link([tap, FakeNext(ANSWER)])
    request = make_request()
    request.metadata = {"a/b": lambda: "value"}
    await settled(tap.serve(request))
    for payload in outlet.payloads:
        found = decode(payload)
        assert (found.identity, found.version) == (b"me", b"v")
        assert found.extra.decode() == extra.replace("{id}", str(request.query.id))


def test_defaults_and_shared_connections() -> None:
    process = FakeProcess()
    for _ in range(2):
        setup(make_directive("dnstap a\ndnstap a full\ndnstap listen b some"), make_site(process=process))
    assert [key[:2] for key in process.lender.lent] == [("dnstap", ("unix", "a")), ("dnstap listen", ("unix", "b"))]
    assert process.lines[0] == "[WARNING] unix://b: 'some' has no effect: expected `full` or nothing"
    assert process.metrics.families["waypost_dnstap_dropped_messages_total"].cells.keys() == {
        ("unix://a",),
        ("unix://b",),
    }
