"""Which HTTP requests are queries, and what answers are as responses."""

from __future__ import annotations

import base64

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rrset
import pytest

from support.listening import World, query, response
from waypost.listeners.doh import DohService, freshness, message_of, response_of
from waypost.listeners.http import HttpRequest, HttpResponse, Peer

TYPE = {b"content-type": b"application/dns-message"}
WIRE = query("example.org.", 0)


def get(text: bytes) -> HttpRequest:
    return HttpRequest(b"GET", b"/dns-query?" + text, {})


def encoded(wire: bytes) -> bytes:
    return base64.urlsafe_b64encode(wire).rstrip(b"=")


def changed(**fields: int) -> bytes:
    """A query with another opcode or more questions."""
    message = dns.message.from_wire(WIRE)
    if "opcode" in fields:
        message.set_opcode(fields["opcode"])  # type: ignore[arg-type]
    wire = bytearray(message.to_wire())
    wire[5] = fields.get("questions", 1)
    return bytes(wire)


@pytest.mark.parametrize(
    "request_",
    [
        get(b"dns=" + encoded(WIRE)),
        get(b"ct=application/dns-message&dns=" + encoded(WIRE)),
        HttpRequest(b"POST", b"/dns-query", TYPE, WIRE),
        HttpRequest(b"POST", b"/dns-query", {b"content-type": b"Application/DNS-Message; x=y"}, WIRE),
        HttpRequest(b"POST", b"/dns-query?ignored", TYPE, WIRE),
    ],
)
def test_a_query(request_: HttpRequest) -> None:
    assert message_of(request_) == WIRE


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (HttpRequest(b"GET", b"/", {}), 404),
        (HttpRequest(b"GET", b"/dns-query/?dns=" + encoded(WIRE), {}), 404),
        (HttpRequest(b"POST", b"/dns-query2", TYPE, WIRE), 404),
        (HttpRequest(b"PUT", b"/dns-query", TYPE, WIRE), 405),
        (HttpRequest(b"HEAD", b"/dns-query?dns=" + encoded(WIRE), {}), 405),
        (HttpRequest(b"POST", b"/dns-query", {}, WIRE), 415),
        (HttpRequest(b"POST", b"/dns-query", {b"content-type": b"text/plain"}, WIRE), 415),
        (HttpRequest(b"POST", b"/dns-query", TYPE, None), 413),
        (HttpRequest(b"POST", b"/dns-query", TYPE, b""), 400),
        (HttpRequest(b"POST", b"/dns-query", TYPE, b"what?"), 400),
        (HttpRequest(b"POST", b"/dns-query", TYPE, response()), 400),
        (HttpRequest(b"POST", b"/dns-query", TYPE, changed(opcode=dns.opcode.UPDATE)), 400),
        (HttpRequest(b"POST", b"/dns-query", TYPE, changed(questions=2)), 400),
        (get(b""), 400),
        (get(b"dns="), 400),
        (get(b"dns=" + base64.urlsafe_b64encode(WIRE)), 400),
        (get(b"dns=" + encoded(WIRE) + b"&dns=" + encoded(WIRE)), 400),
        (get(b"dns=" + encoded(WIRE)[:-1] + b"+"), 400),
        (get(b"dns=" + encoded(WIRE) + b"\n"), 400),
        (get(b"dns=A"), 400),
        (get(b"name=example.org"), 400),
    ],
)
def test_no_query(request_: HttpRequest, status: int) -> None:
    answer = message_of(request_)
    assert isinstance(answer, HttpResponse)
    assert answer.status == status


def answer(*records: str, authority: tuple[str, ...] = (), rcode: str = "NOERROR", edns: bool = False) -> bytes:
    message = dns.message.make_response(dns.message.make_query("example.org.", "A", use_edns=edns))
    message.set_rcode(dns.rcode.from_text(rcode))
    message.answer = [dns.rrset.from_text(*record.split(" ", 4)) for record in records]
    message.authority = [dns.rrset.from_text(*record.split(" ", 4)) for record in authority]
    return message.to_wire()


SOA = "org. 60 IN SOA a. b. 1 2 3 4 5"


@pytest.mark.parametrize(
    ("wire", "seconds"),
    [
        (answer("example.org. 300 IN A 10.0.0.1"), 300),
        (answer("example.org. 300 IN A 10.0.0.1", authority=("org. 20 IN NS a.",)), 20),
        (answer("example.org. 300 IN A 10.0.0.1", edns=True), 300),
        (answer("example.org. 0 IN A 10.0.0.1"), 0),
        (answer("example.org. 90000 IN A 10.0.0.1"), 3600),
        (answer(authority=(SOA,)), 60),
        (answer(authority=(SOA,), rcode="NXDOMAIN"), 60),
        (answer(), 5),
        (answer(rcode="NXDOMAIN"), 5),
        (answer(rcode="SERVFAIL"), 5),
        (answer(authority=(SOA,), rcode="SERVFAIL"), 5),
        (answer(authority=("org. 20 IN NS a.",)), 5),
        (answer(authority=("org. 2 IN NS a.",)), 2),
        (b"no message", 5),
    ],
)
def test_how_long_a_cache_may_keep_it(wire: bytes, seconds: int) -> None:
    assert freshness(wire) == seconds


def test_an_answer() -> None:
    wire = answer("example.org. 300 IN A 10.0.0.1")
    assert response_of(wire) == HttpResponse(
        200, ((b"content-type", b"application/dns-message"), (b"cache-control", b"max-age=300")), wire
    )
    assert response_of((wire,)).body == wire


@pytest.mark.parametrize("messages", [None, (), (WIRE, WIRE)])
def test_what_http_cannot_carry(messages: tuple[bytes, ...] | None) -> None:
    answer = response_of(messages)
    assert (answer.status, answer.body) == (500, b"No response\n")


def test_responses_are_counted() -> None:
    world = World()
    service = DohService(world.registry, "https")
    peer = Peer(("192.0.2.9", 40000), None)
    for request in (get(b"dns=" + encoded(WIRE)), get(b""), HttpRequest(b"HEAD", b"/x", {})):
        answer = service.respond(request, world.server, peer)
        assert isinstance(answer, HttpResponse)
        assert (request.method == b"HEAD") is not bool(answer.body)
    cells = world.registry.families["coredns_dns_https_responses_total"].cells
    assert {key: cell.value for key, cell in cells.items()} == {  # type: ignore[union-attr]
        ("dns://:53", "200"): 1,
        ("dns://:53", "400"): 1,
        ("dns://:53", "404"): 1,
    }
