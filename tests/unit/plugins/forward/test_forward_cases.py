"""Faults that users of forwarding DNS servers reported in public: none of them can happen here. Real sockets."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, ExitStack

import dns.flags
import dns.message
import dns.rcode
import pytest

from support.caching import Rig
from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, make_wire, run
from support.upstream import (
    Asked,
    Behaviour,
    Close,
    ScriptedUpstream,
    Send,
    Step,
    closed_port,
    good,
    rcode,
    reply,
    silent,
    slow,
    then_good,
    until,
)
from waypost.dispatch.handler import Handler, link, settled
from waypost.dispatch.request import Request
from waypost.plugins.forward import setup
from waypost.plugins.forward.config import parse
from waypost.wire import consts
from waypost.wire.fit import pack
from waypost.wire.reply import Reply


class Block:
    """A block with one `forward` line, started."""

    def __init__(self, text: str) -> None:
        self.process = FakeProcess()
        self.site = make_site(process=self.process)
        setup(make_directive(text), self.site)
        behind: Handler = FakeNext(Reply(consts.NXDOMAIN, 0), name="behind")
        self.chain = link([*self.site.handlers["forward"], behind])

    async def reply(self, request: Request | None = None) -> Reply:
        return await settled(self.chain.serve(request or make_request("www.example.org.")))

    async def ask(self, request: Request | None = None) -> dns.message.Message:
        """What the client reads, the server's SERVFAIL included."""
        request = request or make_request("www.example.org.")
        got = await self.reply(request)
        shown = got if got.written else Reply(got.rcode, 0)
        return dns.message.from_wire(pack(request.query, shown, datagram=request.datagram))

    def connects(self, address: str, proto: str = "tcp") -> float:
        """How many new sockets queries to an upstream needed."""
        cells = self.process.metrics.families["coredns_proxy_conn_cache_misses_total"].cells
        return cells["forward", address, proto].value  # type: ignore[union-attr]

    async def close(self) -> None:
        await run(self.site.hooks.stop)
        for lent in self.process.lender.lent.values():
            await lent.close()  # type: ignore[attr-defined]


Make = Callable[..., Awaitable[Block]]


@pytest.fixture
async def forwarding() -> AsyncIterator[Make]:
    async with AsyncExitStack() as stack:

        async def make(to: str, *options: str) -> Block:
            block = Block(f"forward . {to} {{\n" + "\n".join(options) + "\n}")
            stack.push_async_callback(block.close)
            await run(block.site.hooks.start)
            return block

        yield make


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream() as started:
        yield started


def text(message: dns.message.Message) -> str:
    return dns.rcode.to_text(message.rcode())


def addresses(message: dns.message.Message) -> set[str]:
    return {rdata.to_text() for rrset in message.answer for rdata in rrset}


def many(count: int) -> Behaviour:
    """So many A records, whatever the size and without TC."""

    def behave(asked: Asked) -> Iterable[Step]:
        made = reply(asked, *(f"@ 60 IN A 192.0.2.{number}" for number in range(1, count + 1)))
        return [Send(made.to_wire())]

    return behave


@pytest.mark.parametrize("length", [10, 14, 15, 16, 30])
async def test_a_set_is_whole_or_truncated(forwarding: Make, upstream: ScriptedUpstream, length: int) -> None:
    """B26: more than 512 bytes over UDP became an error or, at certain offsets, a short set without TC."""
    block = await forwarding(upstream.address)
    name = f"{'a' * length}.example."
    for count in range(1, 41):
        upstream.behaviour = many(count)
        got = await block.ask(make_request(name))
        assert text(got) == "NOERROR"
        if not got.flags & dns.flags.TC:
            assert len(addresses(got)) == count
        whole = await block.ask(make_request(name, datagram=False))
        assert not whole.flags & dns.flags.TC
        assert len(addresses(whole)) == count


async def test_a_truncated_reply_may_be_cut_anywhere(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B27: TC together with a record cut in its middle was SERVFAIL."""
    whole = b""
    size = 0

    def cut(asked: Asked) -> Iterable[Step]:
        nonlocal whole
        if asked.proto == "tcp" or not whole:
            records = (f"@ 60 IN A 192.0.{number >> 8}.{number & 255}" for number in range(401))
            whole = reply(asked, *records, tc=asked.proto == "udp").to_wire()
        return [Send((asked.wire[:2] + whole[2:])[: None if asked.proto == "tcp" else size])]

    upstream.behaviour = cut
    block = await forwarding(upstream.address, "read_timeout 100ms")
    for size in range(12, 513, 3):
        got = await block.ask()
        assert (text(got), bool(got.flags & dns.flags.TC), got.answer) == ("NOERROR", True, []), size
    assert len(addresses(await block.ask(make_request("www.example.org.", datagram=False)))) == 401


NOISE: dict[str, Callable[[Asked], bytes]] = {
    "three bytes": lambda asked: bytes([asked.wire[0] ^ 1, asked.wire[1], 0]),
    "one-byte label": lambda asked: bytes([asked.wire[0] ^ 1]) + asked.wire[1:2] + b"\x80\x00\0\1\0\0\0\0\0\0\x01",
    "nothing": lambda asked: b"",
}


@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
async def test_noise_before_the_reply(
    forwarding: Make, upstream: ScriptedUpstream, noise: Callable[[Asked], bytes], times: int
) -> None:
    """S03, B29: a short or foreign datagram ended the wait, and the good reply behind it was lost."""
    upstream.behaviour = then_good(*[noise] * times)
    block = await forwarding(upstream.address)
    assert addresses(await block.ask()) == {"192.0.2.1"}
    assert upstream.count() == 1


async def test_failover_is_one_pass(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B30: upstreams that all fail were asked again and again until the timeout."""
    upstream.behaviour = rcode("SERVFAIL")
    async with ScriptedUpstream(rcode("SERVFAIL")) as second:
        block = await forwarding(f"{upstream.address} {second.address}", "policy sequential", "failover SERVFAIL")
        assert text(await block.ask()) == "SERVFAIL"
        assert (upstream.count(), second.count()) == (1, 1)


@pytest.mark.parametrize("count", [1, 3])
async def test_refused_connections_are_two_a_query(forwarding: Make, count: int) -> None:
    """B32: an upstream that refuses at once made the server spin until the deadline."""
    with ExitStack() as stack:
        dead = [f"127.0.0.1:{stack.enter_context(closed_port())}" for _ in range(count)]
        block = await forwarding(" ".join(dead), "force_tcp", "max_fails 0")
        assert text(await block.ask()) == "SERVFAIL"
        assert [block.connects(address) for address in dead] == [2] * count


async def test_a_reply_that_cannot_be_read_is_no_failure_of_the_network(
    forwarding: Make, upstream: ScriptedUpstream
) -> None:
    """B33: it was retried as if it was, and burned the CPU for five seconds."""

    def broken(asked: Asked) -> Iterable[Step]:
        wire = bytearray(reply(asked, "@ 60 IN NS ns.example.").to_wire())
        wire[-9] = 0x80
        return [Send(bytes(wire))]

    upstream.behaviour = broken
    async with ScriptedUpstream(broken) as second:
        block = await forwarding(f"{upstream.address} {second.address}", "max_fails 0")
        assert text(await block.ask()) == "SERVFAIL"
        assert upstream.count() <= 2
        assert second.count() <= 2


async def test_with_failfast_nobody_waits_for_dead_upstreams(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B34: queries were sprayed at upstreams that are all down, each waiting for its time."""
    upstream.behaviour = silent
    block = await forwarding(
        upstream.address, "read_timeout 20ms", "max_fails 1", "health_check 10ms", "failfast_all_unhealthy_upstreams"
    )
    await block.ask()
    (member,) = members(block)
    member.health.close()  # no probe revives it meanwhile
    member.health.fails = 2
    before = upstream.count()
    replies = await asyncio.gather(*(block.reply() for _ in range(1000)))
    assert {each.error for each in replies} == {"no healthy proxies"}
    assert upstream.count() == before


async def test_a_single_upstream_comes_back(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B35: once down it was never tried again."""
    block = await forwarding(upstream.address, "read_timeout 20ms", "max_fails 1", "health_check 10ms")
    (member,) = members(block)
    for _ in range(3):
        upstream.behaviour = silent
        assert text(await block.ask()) == "SERVFAIL"
        member.health.fails = 2
        upstream.behaviour = good()
        assert text(await block.ask()) == "NOERROR"
        await until(lambda: not member.health.down)


@pytest.mark.parametrize("code", ["SERVFAIL", "REFUSED", "NXDOMAIN", "NOTIMP"])
async def test_no_rcode_marks_an_upstream_down_unless_it_is_named(
    forwarding: Make, upstream: ScriptedUpstream, code: str
) -> None:
    """B35: SERVFAIL answers counted as down."""
    upstream.behaviour = rcode(code)
    block = await forwarding(upstream.address, "max_fails 1", "health_check 10ms unhealthy YXDOMAIN")
    for _ in range(5):
        assert text(await block.ask()) == code
    (member,) = members(block)
    assert (member.health.fails, upstream.count()) == (0, 5)


async def test_one_of_three_dies_and_no_query_is_lost(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B36: single queries still timed out for many seconds."""
    async with ScriptedUpstream() as second, ScriptedUpstream() as third:
        block = await forwarding(
            f"{upstream.address} {second.address} {third.address}",
            "policy round_robin", "max_fails 1", "health_check 10ms", "read_timeout 50ms",
        )  # fmt: skip
        upstream.behaviour = silent
        for _ in range(30):
            assert addresses(await block.ask()) == {"192.0.2.1"}


async def test_failover_hides_an_upstream_that_only_fails(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B38: an upstream that answers SERVFAIL to everything stays in rotation."""
    upstream.behaviour = rcode("SERVFAIL")
    async with ScriptedUpstream() as second:
        block = await forwarding(f"{upstream.address} {second.address}", "failover SERVFAIL")
        for _ in range(30):
            assert text(await block.ask()) == "NOERROR"


NAMED = {"udp": ("unhealthy SERVFAIL",), "tcp": ("unhealthy SERVFAIL REFUSED no_rec", "force_tcp")}


@pytest.mark.parametrize("options", NAMED.values(), ids=NAMED)
async def test_an_upstream_that_only_fails_leaves_the_rotation(
    forwarding: Make, upstream: ScriptedUpstream, options: tuple[str, ...]
) -> None:
    """B38: it stayed, and so many answers were SERVFAIL for ever; where its rcode is named the share falls to 0."""
    upstream.behaviour = rcode("SERVFAIL")
    async with ScriptedUpstream() as second:
        both = f"{upstream.address} {second.address}"
        block = await forwarding(both, "policy random", "max_fails 1", f"health_check 10ms {options[0]}", *options[1:])
        bad, well = members(block)
        while text(await block.ask()) == "NOERROR":
            pass
        await until(lambda: bad.health.down)
        before = second.count()
        assert {text(await block.ask()) for _ in range(30)} == {"NOERROR"}
        assert (second.count() - before, well.health.down) == (30, False)
        failures = block.process.metrics.families["coredns_proxy_healthcheck_failures_total"].cells
        assert failures["forward", upstream.address].value >= 2  # type: ignore[union-attr]
        upstream.behaviour = good("192.0.2.7")
        await until(lambda: not bad.health.down)
        while addresses(await block.ask()) != {"192.0.2.7"}:
            pass


async def test_with_no_rcode_named_it_stays(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B38, as CoreDNS has it: only upstreams that do not answer are probed."""
    upstream.behaviour = rcode("SERVFAIL")
    async with ScriptedUpstream() as second:
        both = f"{upstream.address} {second.address}"
        block = await forwarding(both, "policy round_robin", "max_fails 1", "health_check 10ms")
        assert Counter([text(await block.ask()) for _ in range(30)]) == {"SERVFAIL": 15, "NOERROR": 15}
        assert (upstream.count(), second.count()) == (15, 15)


@pytest.mark.parametrize("reset", [False, True])
async def test_a_stale_connection_costs_no_query(forwarding: Make, upstream: ScriptedUpstream, reset: bool) -> None:
    """B42: a kept connection that the upstream had closed, or resets, gave SERVFAIL for the next query."""
    used: set[int] = set()

    def once(asked: Asked) -> Iterable[Step]:
        if reset and asked.connection in used:
            return [Close(reset=True)]
        used.add(asked.connection)
        return good()(asked)

    upstream.behaviour = once
    block = await forwarding(upstream.address, "force_tcp")
    for _ in range(20):
        assert addresses(await block.ask()) == {"192.0.2.1"}
        if not reset:
            upstream.drop_connections()
    answers = await asyncio.gather(*(block.ask() for _ in range(50)))
    assert [addresses(each) for each in answers] == [{"192.0.2.1"}] * 50


async def test_bursts_need_few_connections(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B43: every burst made hundreds of connections, and handshakes ate the CPU."""
    block = await forwarding(upstream.address, "force_tcp")
    for _ in range(3):
        event = asyncio.Event()
        upstream.behaviour = slow(event)
        asking = [asyncio.create_task(block.ask()) for _ in range(200)]
        expected = upstream.count() + 200
        await until(lambda expected=expected: upstream.count() == expected)  # type: ignore[misc]
        event.set()
        assert {text(each) for each in await asyncio.gather(*asking)} == {"NOERROR"}
    assert upstream.connections <= 64


async def test_expire_0s_is_no_reuse(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B44: it was a panic."""
    block = await forwarding(upstream.address, "force_tcp", "expire 0s")
    for _ in range(2):
        assert text(await block.ask()) == "NOERROR"
    assert upstream.connections == 2


@pytest.mark.parametrize(("options", "recursion"), [("", True), (" no_rec", False)])
async def test_the_name_that_is_probed(
    forwarding: Make, upstream: ScriptedUpstream, options: str, recursion: bool
) -> None:
    """B45: without a final dot `domain` sent a broken name."""
    upstream.behaviour = silent
    block = await forwarding(
        upstream.address, f"health_check 10ms{options} domain example.org", "read_timeout 20ms", "max_fails 1"
    )
    await block.ask()
    await until(lambda: any(asked.name == "example.org." for asked in upstream.seen))
    probe = next(asked for asked in upstream.seen if asked.name == "example.org.")
    assert bool(probe.message.flags & dns.flags.RD) == recursion


async def test_failures_are_counted_without_end(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B46: a counter wrapped, and a dead upstream looked healthy."""
    upstream.behaviour = silent
    block = await forwarding(upstream.address, "read_timeout 20ms", "health_check 10ms")
    (member,) = members(block)
    member.health.fails = 2**32 - 1
    await block.ask()
    await until(lambda: member.health.fails >= 2**32)
    assert member.health.down


async def test_ids_and_ports_cannot_be_foreseen(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B47: the client's id was used towards the upstream."""
    block = await forwarding(upstream.address)
    wire = b"\x00\x01" + make_wire("www.example.org.")[2:]
    for _ in range(300):
        assert text(await block.ask(make_request(wire=wire))) == "NOERROR"
    ids = Counter(asked.message.id for asked in upstream.seen)
    assert len(ids) > 280
    assert ids[1] < 3
    assert max(ids) - min(ids) > 30_000
    assert len({asked.peer_port for asked in upstream.seen}) >= 300 // 32


def test_a_negative_expire_is_refused() -> None:
    """B44."""
    with pytest.raises(Exception, match="expire can't be negative"):
        parse(make_directive("forward . 192.0.2.1 {\nexpire -1s\n}"))


class Kept:
    """A cache before a forward line."""

    def __init__(self, block: Block, directive: str = "cache") -> None:
        self.rig = Rig(directive)
        self.rig.cache.next = block.chain

    async def ask(self, name: str = "www.example.org.") -> Reply:
        return await settled(self.rig.cache.serve(make_request(name)))


async def test_surplus_queries_are_refused_and_that_is_not_kept(forwarding: Make, upstream: ScriptedUpstream) -> None:
    """B20: they got SERVFAIL, which the cache kept for five seconds after the load was gone."""
    event = asyncio.Event()
    upstream.behaviour = slow(event)
    block = await forwarding(upstream.address, "max_concurrent 2")
    kept = Kept(block)
    asking = [asyncio.create_task(kept.ask()) for _ in range(10)]
    await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    event.set()
    replies = Counter(each.rcode for each in await asyncio.gather(*asking))
    assert replies == {consts.REFUSED: 8, consts.NOERROR: 2}
    assert block.process.metrics.counter("coredns_forward_max_concurrent_rejects_total", "").labels().value == 8
    upstream.behaviour = good()
    assert (await kept.ask()).rcode == consts.NOERROR
    assert (await kept.ask("other.example.org.")).rcode == consts.NOERROR


@pytest.mark.parametrize("refresh", [False, True])
async def test_a_reply_without_question_is_not_kept(
    forwarding: Make, upstream: ScriptedUpstream, refresh: bool
) -> None:
    """B08: it was an index error in the cache, for a query or for a refresh."""

    def unasked(asked: Asked) -> Iterable[Step]:
        made = reply(asked)
        made.question = []
        return [Send(made.to_wire())]

    block = await forwarding(upstream.address)
    kept = Kept(block, "cache 10 {\nprefetch 1 1m 90%\n}")
    if refresh:
        await kept.ask()
        kept.rig.clock.advance(5)
    upstream.behaviour = unasked
    expected = consts.NOERROR if refresh else consts.FORMERR
    before = upstream.count()
    assert (await kept.ask()).rcode == expected
    await until(lambda: upstream.count() == before + 1)
    upstream.behaviour = good()
    kept.rig.clock.advance(10)
    assert (await kept.ask()).rcode == consts.NOERROR
    await kept.rig.cache.close()


def members(block: Block) -> list:  # type: ignore[type-arg]
    """The upstreams of the line."""
    return [member for lent in block.process.lender.lent.values() for member in getattr(lent, "members", ())]
