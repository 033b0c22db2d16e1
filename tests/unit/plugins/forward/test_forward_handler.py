"""What forward does with queries, against scripted upstreams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import dns.edns
import dns.flags
import dns.message
import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, run
from support.doh import KEYS, SERVER_NAME, ScriptedDoh
from support.doq import ScriptedDoq
from support.upstream import (
    Asked,
    ScriptedUpstream,
    Send,
    changed,
    closed_port,
    good,
    rcode,
    reply,
    silent,
    slow,
    truncating,
    until,
)
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import Handler, link, settled
from waypost.dispatch.request import Request
from waypost.dispatch.trace import Trace
from waypost.plugins.forward import setup
from waypost.toolkit.upstream_group import UpstreamGroup
from waypost.wire import consts
from waypost.wire.fit import pack
from waypost.wire.reply import Reply

ELSEWHERE = Reply(consts.NXDOMAIN, 0)


class Forwarding:
    """A block of forward lines with a plugin behind them."""

    def __init__(self, text: str, process: FakeProcess | None = None) -> None:
        self.process = process or FakeProcess()
        self.site = make_site(process=self.process)
        setup(make_directive(text), self.site)
        self.behind = FakeNext(ELSEWHERE)
        handlers: list[Handler] = [*self.site.handlers["forward"], self.behind]
        self.chain = link(handlers)

    async def ask(self, request: Request | None = None) -> Reply:
        return await settled(self.chain.serve(request or make_request("www.example.org.")))

    async def close(self) -> None:
        for group in self.process.lender.lent.values():
            await group.close()  # type: ignore[attr-defined]

    @property
    def group(self) -> UpstreamGroup:
        (group,) = self.process.lender.lent.values()
        assert isinstance(group, UpstreamGroup)
        return group

    def cells(self, name: str) -> dict[tuple[str, ...], float]:
        return {
            labels: getattr(cell, "value", 0.0) for labels, cell in self.process.metrics.families[name].cells.items()
        }

    def counter(self, name: str) -> float:
        return self.process.metrics.counter(name, "").labels().value


Make = Callable[..., Awaitable[Forwarding]]


@pytest.fixture
async def forwarding() -> AsyncIterator[Make]:
    """Makes Forwardings that are closed with the test."""
    async with AsyncExitStack() as stack:

        async def make(text: str) -> Forwarding:
            made = Forwarding(text)
            stack.push_async_callback(made.close)
            return made

        yield make


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream() as started:
        yield started


async def test_reply_passes_through(forwarding: Make, upstream: ScriptedUpstream) -> None:
    def full(message: dns.message.Message) -> None:
        message.flags |= dns.flags.AA | dns.flags.AD | dns.flags.CD
        message.flags &= ~dns.flags.RD
        message.authority.append(dns.rrset.from_text("org.", 40, "IN", "NS", "ns.org."))
        message.additional.append(dns.rrset.from_text("ns.org.", 50, "IN", "A", "192.0.2.3"))
        message.use_edns(0, 0, 4000, options=[dns.edns.GenericOption(65001, b"x")])

    upstream.behaviour = changed(full)
    request = make_request("WwW.example.org.")
    got = await (await forwarding(f"forward . {upstream.address}")).ask(request)
    message = dns.message.from_wire(pack(request.query, got, datagram=True))
    assert dns.flags.to_text(message.flags) == "QR AA RA AD CD"
    assert message.question[0].to_text() == "WwW.example.org. IN A"
    sections = [
        [str(rrset) for rrset in section] for section in (message.answer, message.authority, message.additional)
    ]
    assert sections == [
        ["WwW.example.org. 60 IN A 192.0.2.66"],
        ["org. 40 IN NS ns.org."],
        ["ns.org. 50 IN A 192.0.2.3"],
    ]
    assert (message.payload, message.options[0].to_wire()) == (4000, b"x")


async def test_clients_letters_are_kept_when_upstream_changes_them(
    forwarding: Make, upstream: ScriptedUpstream
) -> None:
    def lower(message: dns.message.Message) -> None:
        message.question[0].name = dns.name.from_text("www.example.org.")

    upstream.behaviour = changed(lower)
    request = make_request("WWW.example.org.")
    got = await (await forwarding(f"forward . {upstream.address}")).ask(request)
    message = dns.message.from_wire(pack(request.query, got, datagram=True))
    assert message.question[0].to_text() == "WWW.example.org. IN A"


@pytest.mark.parametrize("text", ["SERVFAIL", "NXDOMAIN", "REFUSED", "NOTIMP", "BADVERS"])
async def test_rcode_passes_through(forwarding: Make, upstream: ScriptedUpstream, text: str) -> None:
    upstream.behaviour = rcode(text)
    got = await (await forwarding(f"forward . {upstream.address}")).ask(make_request("www.example.org.", bufsize=1232))
    assert (consts.rcode_text(got.rcode), got.written, got.error) == (text, True, "")


async def test_zone_and_exceptions(forwarding: Make, upstream: ScriptedUpstream) -> None:
    made = await forwarding(f"forward ex.org {upstream.address} {{\nexcept ex.org no.ex.org\n}}")
    for name, forwarded in {
        "ex.org.": True,  # the zone itself always is
        "bar.ex.org.": False,
        "no.ex.org.": False,
        "other.org.": False,
        "notex.org.": False,
    }.items():
        before = upstream.count()
        got = await made.ask(make_request(name))
        assert (upstream.count() > before) == forwarded
        assert (got is ELSEWHERE) != forwarded


async def test_except_names_and_what_is_below(forwarding: Make, upstream: ScriptedUpstream) -> None:
    made = await forwarding(f"forward . {upstream.address} {{\nexcept cluster.local 10.in-addr.arpa\n}}")
    assert await made.ask(make_request("Svc.Cluster.LOCAL.")) is ELSEWHERE
    assert (await made.ask(make_request("xcluster.local."))).answer


async def test_question_of_another_class(forwarding: Make, upstream: ScriptedUpstream) -> None:
    await (await forwarding(f"forward . {upstream.address}")).ask(make_request("version.bind.", "TXT", qclass="CH"))
    assert upstream.seen[0].message.question[0].to_text() == "version.bind. CH TXT"


TRANSPORTS = {
    "": ("udp", "tcp"),
    "force_tcp": ("tcp", "tcp"),
    "prefer_udp": ("udp", "udp"),
    "force_tcp\nprefer_udp": ("tcp", "tcp"),
}


@pytest.mark.parametrize("options", TRANSPORTS)
async def test_transport(forwarding: Make, upstream: ScriptedUpstream, options: str) -> None:
    made = await forwarding(f"forward . {upstream.address} {{\n{options}\n}}")
    for datagram in (True, False):
        await made.ask(make_request("www.example.org.", datagram=datagram))
    assert tuple(asked.proto for asked in upstream.seen) == TRANSPORTS[options]


@pytest.mark.parametrize(("options", "records"), [("", 0), ("prefer_udp", 2), ("force_tcp", 2)])
async def test_truncated_reply(forwarding: Make, upstream: ScriptedUpstream, options: str, records: int) -> None:
    upstream.behaviour = truncating
    got = await (await forwarding(f"forward . {upstream.address} {{\n{options}\n}}")).ask()
    assert (len(got.answer), bool(got.flags & consts.TC)) == (records, not records)


async def test_mismatch_is_formerr_without_another_try(forwarding: Make, upstream: ScriptedUpstream) -> None:
    def lie(message: dns.message.Message) -> None:
        message.question[0].name = dns.name.from_text("other.org.")

    upstream.behaviour = changed(lie)
    got = await (await forwarding(f"forward . {upstream.address}")).ask()
    assert (got.rcode, got.written, got.flags, got.answer) == (consts.FORMERR, True, consts.RD, ())
    assert upstream.count() == 1


async def test_nobody_there(forwarding: Make) -> None:
    with closed_port() as port:
        got = await (await forwarding(f"forward . 127.0.0.1:{port} {{\nmax_fails 0\n}}")).ask()
    assert (got.rcode, got.written) == (consts.SERVFAIL, False)
    assert got.error.startswith("read udp 127.0.0.1:")
    assert got.error.endswith(f"->127.0.0.1:{port}: read: connection refused")


async def test_silence(forwarding: Make, upstream: ScriptedUpstream) -> None:
    upstream.behaviour = silent
    got = await (await forwarding(f"forward . {upstream.address} {{\nread_timeout 50ms\n}}")).ask()
    assert (got.rcode, got.written) == (consts.SERVFAIL, False)
    assert got.error.endswith(f"->{upstream.address}: i/o timeout")


async def test_refused_connections_are_tried_twice(forwarding: Make) -> None:
    with closed_port() as port:
        made = await forwarding(f"forward . 127.0.0.1:{port} {{\nforce_tcp\n}}")
        got = await made.ask()
    assert got.error == f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    misses = made.process.metrics.families["coredns_proxy_conn_cache_misses_total"]
    assert misses.cells["forward", f"127.0.0.1:{port}", "tcp"].value == 2  # type: ignore[union-attr]


async def test_bad_reply_is_tried_elsewhere(forwarding: Make, upstream: ScriptedUpstream) -> None:
    def broken(asked: Asked) -> list[Send]:
        wire = bytearray(reply(asked, "@ 60 IN NS ns.example.").to_wire())
        wire[-9] = 0x80
        return [Send(bytes(wire))]

    upstream.behaviour = broken
    async with ScriptedUpstream(good()) as second:
        made = await forwarding(f"forward . {upstream.address} {second.address} {{\npolicy sequential\n}}")
        assert (await made.ask()).answer
    assert (upstream.seen[0].name, second.count()) == ("www.example.org.", 1)


async def test_max_concurrent(forwarding: Make, upstream: ScriptedUpstream) -> None:
    event = asyncio.Event()
    upstream.behaviour = slow(event)
    made = await forwarding(f"forward . {upstream.address} {{\nmax_concurrent 2\n}}")
    asking = [asyncio.create_task(made.ask()) for _ in range(6)]
    done, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    assert {task.result().error for task in done} == {"concurrent queries exceeded maximum 2"}
    event.set()
    replies = [await task for task in asking]
    assert [reply.rcode for reply in replies].count(consts.REFUSED) == 4
    assert made.counter("coredns_forward_max_concurrent_rejects_total") == 4
    assert (await made.ask()).answer
    # What callers gave up on leaves room for others when its upstream has answered.
    event.clear()
    asking = [asyncio.create_task(made.ask()) for _ in range(2)]
    await until(lambda: upstream.count() == 5)
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    assert (await made.ask()).rcode == consts.REFUSED
    event.set()
    await until(lambda: made.site.handlers["forward"][0]._busy == 0)
    assert (await made.ask()).answer


async def test_next(forwarding: Make, upstream: ScriptedUpstream) -> None:
    def by_name(asked: Asked) -> list[Send]:
        texts = {"nx": "NXDOMAIN", "ref": "REFUSED", "sf": "SERVFAIL"}
        label = asked.name.partition(".")[0]
        if label == "nodata":
            return [Send(reply(asked).to_wire())]
        return [*(rcode(texts[label]) if label in texts else good())(asked)]  # type: ignore[list-item]

    upstream.behaviour = by_name
    async with ScriptedUpstream(good("192.0.2.2")) as second:
        made = await forwarding(
            f"forward . {upstream.address} {{\nnext NXDOMAIN refused\nnext_on_nodata\n}}\n"
            f"forward never.org {second.address}\nforward . {second.address}"
        )
        last = {
            name: (await made.ask(make_request(f"{name}.org."))).answer for name in ("a", "nx", "ref", "nodata", "sf")
        }
        assert {name: records[0].rdata[3] if records else 0 for name, records in last.items()} == {
            "a": 1,
            "nx": 2,
            "ref": 2,
            "nodata": 2,
            "sf": 0,
        }


async def test_next_without_another_forward(forwarding: Make, upstream: ScriptedUpstream) -> None:
    upstream.behaviour = rcode("NXDOMAIN")
    made = await forwarding(f"forward . {upstream.address} {{\nnext NXDOMAIN\n}}")
    got = await made.ask()
    assert (got.rcode, got.flags & consts.RA) == (consts.NXDOMAIN, consts.RA)
    assert made.behind.seen == []


async def test_all_down_is_counted(forwarding: Make, upstream: ScriptedUpstream) -> None:
    upstream.behaviour = silent
    made = await forwarding(
        f"forward . {upstream.address} {{\nread_timeout 20ms\nmax_fails 1\nhealth_check 100ms\n"
        "failfast_all_unhealthy_upstreams\n}"
    )
    await made.ask()
    (group,) = made.process.lender.lent.values()
    (member,) = group.members  # type: ignore[attr-defined]
    member.health.fails = 2
    got = await made.ask()
    assert (got.rcode, got.error) == (consts.SERVFAIL, "no healthy proxies")
    assert made.counter("coredns_forward_healthcheck_broken_total") == 1


async def test_metadata_and_trace(forwarding: Make, upstream: ScriptedUpstream) -> None:
    made = await forwarding(f"forward . {upstream.address}")
    request = make_request("www.example.org.")
    request.metadata = {}
    request.trace = Trace()
    await made.ask(request)
    assert request.metadata["forward/upstream"]() == upstream.address
    said = [(note.text, note.objects) for note in request.trace.notes]
    assert said == [(f"upstream {upstream.address} over udp answered NOERROR", (upstream.address,))]


async def test_followed_file(forwarding: Make, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 127.0.0.1\n")
    made = await forwarding(f"forward . {path}")
    (group,) = made.process.lender.lent.values()
    path.write_text("nameserver 127.0.0.2\n")
    await run(made.site.hooks.start)
    await until(lambda: group.members[0].text == "127.0.0.2:53")  # type: ignore[attr-defined]


SECURE = f"tls {KEYS}/ca.pem\ntls_servername {SERVER_NAME}\npolicy sequential"


@pytest.mark.parametrize("scripted", [ScriptedDoh, ScriptedDoq])
async def test_multiplexed_upstreams(forwarding: Make, scripted: type[ScriptedDoh | ScriptedDoq]) -> None:
    scheme = "https" if scripted is ScriptedDoh else "quic"
    async with scripted() as first, scripted(good("192.0.2.2")) as second:
        made = await forwarding(
            f"forward . {scheme}://127.0.0.1:{first.port} {scheme}://127.0.0.1:{second.port} {{\n{SECURE}\n"
            "max_fails 1\nhealth_check 100ms\nforce_tcp\n}"
        )
        for datagram in (True, False):
            assert (await made.ask(make_request("www.example.org.", datagram=datagram))).answer[0].rdata[3] == 1
        assert made.cells("coredns_proxy_conn_cache_hits_total")["forward", f"127.0.0.1:{first.port}", scheme] == 1
        await first.stop()
        assert (await made.ask()).answer[0].rdata[3] == 2, "the next one is asked"
        health = made.group.members[0].health
        await until(lambda: health.down)
        assert (await made.ask()).answer[0].rdata[3] == 2
        await first.start()
        await until(lambda: not health.down)
        assert (await made.ask()).answer[0].rdata[3] == 1
    durations = made.process.metrics.families["coredns_proxy_request_duration_seconds"].cells
    assert {labels[1] for labels in durations} == {f"127.0.0.1:{first.port}", f"127.0.0.1:{second.port}"}


async def test_doh_method(forwarding: Make) -> None:
    async with ScriptedDoh() as upstream:
        made = await forwarding(f"forward . https://127.0.0.1:{upstream.port} {{\n{SECURE}\ndoh_method GET\n}}")
        assert (await made.ask()).answer
    assert upstream.requests[0].headers[":method"] == "GET"


async def test_host_name(forwarding: Make, upstream: ScriptedUpstream) -> None:
    async with ScriptedUpstream(good("127.0.0.1")) as name_server:
        made = await forwarding(
            f"forward . dns.example:{upstream.port} {{\nresolver {name_server.address}\n}}\n"
            f"forward a.example dns.example:{upstream.port} {{\nresolver {name_server.address}\n}}"
        )
        assert not name_server.seen
        await run(made.site.hooks.start)
        assert (await made.ask()).answer[0].rdata == bytes((192, 0, 2, 1))
        assert {asked.name for asked in name_server.seen} == {"dns.example."}
        assert name_server.count() == 2, "equal lines share what they found"
        await run(made.site.hooks.start)
        assert name_server.count() == 2, "a reload has what was found before"


async def test_host_name_is_what_the_certificate_must_say(forwarding: Make) -> None:
    async with ScriptedUpstream(good("127.0.0.1")) as name_server, ScriptedDoh() as upstream:
        options = f"tls {KEYS}/ca.pem\nresolver {name_server.address}"
        for host, rcode_ in ((SERVER_NAME, consts.NOERROR), ("dns.example", consts.SERVFAIL)):
            made = await forwarding(f"forward . https://{host}:{upstream.port} {{\n{options}\n}}")
            await run(made.site.hooks.start)
            assert (await made.ask()).rcode == rcode_
    assert upstream.requests[0].headers[":authority"] == f"{SERVER_NAME}:{upstream.port}"


async def test_host_name_that_does_not_exist(forwarding: Make) -> None:
    async with ScriptedUpstream(rcode("NXDOMAIN")) as name_server:
        made = await forwarding(f"forward . tls://dns.example {{\nresolver {name_server.address}\n}}")
        with pytest.raises(CorefileError) as caught:
            await run(made.site.hooks.start)
    text = 'plugin/forward: failed to resolve "dns.example": lookup dns.example: no such host'
    assert str(caught.value) == text


async def test_host_name_that_only_we_could_look_up(forwarding: Make) -> None:
    made = await forwarding("forward . dns.example {\nresolver 127.0.0.1\n}")
    with pytest.raises(CorefileError) as caught:
        await run(made.site.hooks.start)
    assert str(caught.value) == (
        'plugin/forward: failed to resolve "dns.example": name server 127.0.0.1:53 is this server itself:'
        " name another one with `resolver`"
    )
