"""prometheus: the directive, what is counted for each outcome, and the endpoint."""

from __future__ import annotations

import gzip
import socket

import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, make_wire, run
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.httpd.message import HttpRequest, HttpResponse
from waypost.httpd.server import HttpServer
from waypost.metrics.registry import Histogram
from waypost.plugins.prometheus import PATH, Config, parse, setup
from waypost.wire import consts
from waypost.wire.names import from_text
from waypost.wire.query import parse_query
from waypost.wire.record import address
from waypost.wire.reply import DROP, Reply, authoritative, failure

ADDRESS = "127.0.0.1:0"


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("prometheus", Config("localhost:9153", False)),
        ("prometheus :9253", Config(":9253", False)),
        ("prometheus {\n runtime_metrics\n}", Config("localhost:9153", True)),
    ],
)
def test_options(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("prometheus 127.0.0.1", "address 127.0.0.1: missing port in address"),
        ("prometheus :1 x", "Wrong argument count or unexpected line ending after 'x'"),
        ("prometheus {\n foo\n}", "unknown option: foo"),
        ("prometheus {\n tls web.yaml\n}", "tls is not supported yet"),
        ("prometheus {\n runtime_metrics x\n}", "Wrong argument count or unexpected line ending after 'x'"),
        ("prometheus\nprometheus", "this plugin can only be used once per Server Block"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


def configure(process: FakeProcess, *labels: str) -> Site:
    site = make_site(*labels, process=process)
    setup(make_directive(f"prometheus {ADDRESS}"), site)
    return site


def count(site: Site, request: Request, outcome: Reply) -> None:
    (handler,) = site.all_handlers()
    handler.next = FakeNext(outcome, name="hosts")
    assert handler.serve(request) is outcome


def cells(process: FakeProcess, name: str) -> dict[tuple[str, ...], float]:
    """Label values to values, for histograms the sum of what was observed."""
    found = process.metrics.collect()[name].cells.items()
    return {values: cell.total if isinstance(cell, Histogram) else cell.value for values, cell in found}


def test_a_reply_is_counted() -> None:
    process = FakeProcess()
    site = configure(process)
    request = make_request("www.example.org.", "AAAA", do=True)
    count(site, request, authoritative(request.query, (address(request.query.qname, 1, bytes(16)),)))
    where = ("dns://:53", ".", "")
    assert cells(process, "coredns_dns_requests_total") == {(*where, "udp", "1", "AAAA"): 1}
    assert cells(process, "coredns_dns_responses_total") == {(*where, "NOERROR", "hosts"): 1}
    assert cells(process, "coredns_dns_do_requests_total") == {where: 1}
    assert cells(process, "coredns_dns_request_size_bytes") == {(*where, "udp"): 33 + 11}
    assert cells(process, "coredns_dns_response_size_bytes") == {(*where, "udp"): 33 + 17 + 10 + 16}
    assert cells(process, "coredns_dns_request_duration_seconds").keys() == {where}


def test_stream_ipv6_and_a_type_without_name() -> None:
    process = FakeProcess()
    request = make_request(qtype="TYPE65280", client=("fd00::1", 1, 0, 0), datagram=False, host="fd00::53")
    count(configure(process), request, authoritative(request.query))
    where = ("dns://[fd00::53]:53", ".", "")
    assert cells(process, "coredns_dns_requests_total") == {(*where, "tcp", "2", "other"): 1}


@pytest.mark.parametrize(
    ("outcome", "rcode", "plugin", "size"),
    [
        (Reply(consts.NXDOMAIN, 0), "NXDOMAIN", "hosts", 29),
        (Reply(77, 0), "RCODE77", "hosts", 29),
        (failure(consts.SERVFAIL, "x"), "SERVFAIL", "", 0),
        (failure(consts.REFUSED), "REFUSED", "", 0),
        (failure(consts.NXDOMAIN), "NOERROR", "", 0),
        (DROP, "NOERROR", "", 0),
    ],
)
def test_outcomes(outcome: Reply, rcode: str, plugin: str, size: int) -> None:
    """B132"""
    process = FakeProcess()
    count(configure(process), make_request("example.org."), outcome)
    where = ("dns://:53", ".", "")
    assert cells(process, "coredns_dns_responses_total") == {(*where, rcode, plugin): 1}
    assert cells(process, "coredns_dns_response_size_bytes") == {(*where, "udp"): size}


def test_the_longest_zone_of_the_block_and_its_view() -> None:
    process = FakeProcess()
    site = configure(process, "org", "example.org", "net")
    site.view = "inside"
    for name in ("A.Example.ORG.", "b.org.", "xexample.org.", "c.net.", "d.com."):
        request = make_request(name)
        count(site, request, authoritative(request.query))
    found = cells(process, "coredns_dns_requests_total")
    assert {values[:3]: n for values, n in found.items()} == {
        ("dns://:53", "example.org.", "inside"): 1,
        ("dns://:53", "org.", "inside"): 2,
        ("dns://:53", "net.", "inside"): 1,
        ("dns://:53", ".", "inside"): 1,
    }


async def test_size_is_that_of_the_query_as_it_came_even_when_the_reply_is_late() -> None:
    """B138: it was measured after plugins had changed the query."""

    class Rewriting(FakeNext):
        def serve(self, request: Request) -> object:  # type: ignore[override]
            request.query = parse_query(make_wire("a-much-longer-name.example.org.", "TXT", bufsize=4096))
            return super().serve(request)

    process = FakeProcess()
    (handler,) = configure(process).all_handlers()
    request = make_request("example.org.")
    handler.next = Rewriting(authoritative(request.query), later=True)
    outcome = handler.serve(request)
    assert not isinstance(outcome, Reply)
    assert process.metrics.collect()["coredns_dns_requests_total"].cells == {}
    await outcome
    where = ("dns://:53", ".", "")
    assert cells(process, "coredns_dns_request_size_bytes") == {(*where, "udp"): 29}
    assert cells(process, "coredns_dns_requests_total") == {(*where, "udp", "1", "A"): 1}


async def test_enabled_plugins_of_the_configuration_that_serves() -> None:
    process = FakeProcess()
    old = configure(process, "old.org")
    await run(old.hooks.active)
    services = process.services()
    first = make_site("a.org", "b.org", services=services)
    second = make_site("c.org:54", services=services)
    third = make_site("d.org", services=services)
    first.bind = ["127.0.0.1", "::1"]
    for site in (first, second):
        setup(make_directive(f"prometheus {ADDRESS}"), site)
    for site in (first, second, third):
        site.add(FakeNext(DROP, name="hosts"))
        site.peers = [first, second, third]
    await run(services.hooks.active)
    found = cells(process, "coredns_plugin_enabled")
    assert set(found.values()) == {1}
    assert set(found) == {
        (server, zone, "", name)
        for server, zone in (
            ("dns://127.0.0.1:53", "a.org."),
            ("dns://[::1]:53", "a.org."),
            ("dns://:54", "c.org."),
        )
        for name in ("prometheus", "hosts")
    }


def test_build_info() -> None:
    process = FakeProcess()
    configure(process)
    ((labels, value),) = cells(process, "coredns_build_info").items()
    assert value == 1
    assert labels[2].startswith("python3.")


async def scrape(process: FakeProcess, headers: dict[str, str]) -> HttpResponse:
    http = process.lender.lent[("http", ADDRESS)]
    assert isinstance(http, HttpServer)
    answer = http.routes[PATH](HttpRequest("GET", PATH, "", headers))
    assert not isinstance(answer, HttpResponse)
    return await answer


async def test_endpoint() -> None:
    process = FakeProcess()
    old = configure(process)
    await run(old.hooks.active)
    plain = await scrape(process, {})
    assert (plain.status, plain.content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert b"coredns_build_info{" in plain.body
    assert plain.headers == ()
    packed = await scrape(process, {"Accept-Encoding": "deflate, gzip"})
    assert packed.headers == (("Content-Encoding", "gzip"),)
    assert b"coredns_build_info{" in gzip.decompress(packed.body)
    failed = configure(process)
    await run(failed.hooks.stop)
    new = configure(process)
    await run(new.hooks.active)
    await run(old.hooks.stop)
    assert (await scrape(process, {})).status == 200


async def test_a_taken_address_is_logged_only() -> None:
    process = FakeProcess()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bound = f"127.0.0.1:{taken.getsockname()[1]}"
        site = make_site(process=process)
        setup(make_directive(f"prometheus {bound}"), site)
        await run(site.hooks.start)
    text = f"Failed to start metrics handler: listen tcp {bound}: bind: address already in use"
    assert process.lines == [f"[ERROR] {text}"]


def test_zone_text_is_the_one_in_wire_form() -> None:
    process = FakeProcess()
    site = configure(process, r"a\.b.org")
    assert site.zones == (from_text(r"a\.b.org."),)
    request = make_request(r"x.a\.b.org.")
    count(site, request, authoritative(request.query))
    ((labels, _),) = cells(process, "coredns_dns_requests_total").items()
    assert labels[1] == r"a\.b.org."
