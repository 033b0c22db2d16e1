"""One query from bytes to bytes through `Server.serve`, judged by dnspython."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable

import dns.message
import dns.rcode
import pytest

from support.chain import make_wire
from waypost.corefile.zones import ZoneAddress
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.serve import Server
from waypost.dispatch.site import Hooks, Services, Site
from waypost.log import Log
from waypost.metrics.registry import Counter, Registry
from waypost.wire import consts
from waypost.wire.names import from_text
from waypost.wire.record import Record, address
from waypost.wire.reply import DROP, Reply, authoritative, failure

CLIENT = ("192.0.2.1", 4000)


class Plugin:
    """Answers with its own name's address, or with what it was given."""

    next: Handler

    def __init__(self, outcome: object = None, name: str = "plugin") -> None:
        self.name = name
        self.outcome = outcome
        self.seen: list[Request] = []

    def serve(self, request: Request) -> Outcome:
        self.seen.append(request)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if callable(self.outcome):
            return self.outcome(request)  # type: ignore[no-any-return]
        if isinstance(self.outcome, Reply):
            return self.outcome
        return authoritative(request.query, (address(request.query.qname, 5, b"\x0a\x00\x00\x01"),))


class World:
    """A server with blocks, and what it wrote and counted."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.registry = Registry()
        self.server = Server("dns", "", "53", Log(self.stream), self.registry)

    def block(self, zone: str, *plugins: Plugin, view: bool | None = None) -> Site:
        services = Services(Log(self.stream), self.registry, None, Hooks(), lambda _: None, lambda *_: None)  # type: ignore[arg-type]
        site = Site((ZoneAddress("dns", zone, "53"),), services, services.log)
        for plugin in plugins:
            site.add(plugin)
        if view is not None:
            site.filters.append(lambda _: view)
        site.link()
        self.server.add(site.zones[0], site)
        return site

    def answer(self, name: str, qtype: str = "A", **query: object) -> dns.message.Message | None:
        wire = self.server.serve(make_wire(name, qtype, **query), CLIENT, True)  # type: ignore[arg-type]
        assert wire is None or isinstance(wire, bytes)
        return None if wire is None else dns.message.from_wire(wire)

    def rcode(self, name: str, qtype: str = "A", **query: object) -> str:
        message = self.answer(name, qtype, **query)
        return "silence" if message is None else dns.rcode.to_text(message.rcode())

    def count(self, metric: str, **labels: str) -> float:
        family = self.registry.collect()[metric]
        total = 0.0
        for values, cell in family.cells.items():
            assert isinstance(cell, Counter)
            if labels.items() <= dict(zip(family.labels, values, strict=True)).items():
                total += cell.value
        return total


@pytest.fixture
def world() -> World:
    return World()


def test_the_longest_zone_answers(world: World) -> None:
    root, org, deep = Plugin(), Plugin(), Plugin()
    world.block(".", root)
    world.block("example.org.", org)
    world.block("a.b.example.org.", deep)
    for name in ("x.net.", "Example.ORG.", "b.example.org.", "x.A.b.example.org."):
        world.answer(name)
    assert [len(plugin.seen) for plugin in (root, org, deep)] == [1, 2, 1]


def test_without_a_block_or_a_handler_it_is_refused_and_counted(world: World) -> None:
    world.block("example.org.", Plugin())
    world.block("empty.org.")
    assert world.rcode("example.net.") == world.rcode("x.empty.org.") == "REFUSED"
    assert world.count("coredns_dns_responses_total", zone="dropped", rcode="REFUSED") == 2


def test_ds_belongs_to_the_parent(world: World) -> None:
    root, parent, child = Plugin(), Plugin(), Plugin()
    world.block(".", root)
    world.block("c.org.", parent)
    world.block("sub.c.org.", child)
    for name in ("sub.c.org.", "a.sub.c.org.", "c.org."):
        world.answer(name, "DS")
    assert [len(plugin.seen) for plugin in (root, parent, child)] == [0, 3, 0]
    world.answer("other.net.", "DS")
    assert len(root.seen) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_views_are_tried_in_order_and_the_walk_goes_on(world: World, order: tuple[int, ...]) -> None:
    """B123"""
    plugins = [Plugin(), Plugin(), Plugin()]
    root = Plugin()
    world.block(".", root)
    for n in order:
        world.block("example.org.", plugins[n], view=n == 1)
    world.answer("example.org.")
    assert [len(plugin.seen) for plugin in plugins] == [0, 1, 0]
    closed = World()
    closed.block(".", root)
    closed.block("example.org.", plugins[0], view=False)
    closed.answer("example.org.")
    assert len(root.seen) == 1


def test_classes_other_than_in_need_a_plugin_that_knows_them(world: World) -> None:
    world.block(".", Plugin())
    assert world.rcode("version.bind.", "TXT", qclass="CH") == "REFUSED"
    world.block("org.", Plugin(name="forward"))
    assert world.rcode("version.bind.", "TXT", qclass="CH") == "NOERROR"


def test_edns_versions_are_refused_before_any_plugin(world: World) -> None:
    plugin = Plugin()
    world.block(".", plugin)
    message = dns.message.make_query("a.", "A", use_edns=1)
    wire = world.server.serve(message.to_wire(), CLIENT, True)
    assert isinstance(wire, bytes)
    assert dns.message.from_wire(wire).rcode() == dns.rcode.BADVERS
    assert plugin.seen == []


@pytest.mark.parametrize(("rcode", "text"), [(1, "FORMERR"), (2, "SERVFAIL"), (4, "NOTIMP"), (5, "REFUSED")])
def test_what_no_plugin_wrote_the_server_writes(world: World, rcode: int, text: str) -> None:
    world.block(".", Plugin(failure(rcode, "because")))
    message = world.answer("a.", bufsize=1400)
    assert message is not None
    assert (dns.rcode.to_text(message.rcode()), message.payload, len(message.question)) == (text, 1400, 1)


def test_silence(world: World) -> None:
    world.block(".", Plugin(DROP))
    assert world.rcode("a.") == "silence"


def test_the_end_of_the_chain_is_a_failure(world: World) -> None:
    passing = Plugin(lambda request: passing.next.serve(request), name="last")
    world.block(".", passing)
    assert world.rcode("a.") == "SERVFAIL"
    assert passing.next.serve(passing.seen[0]).error == "plugin/last: no next plugin found"  # type: ignore[union-attr]


def test_a_fault_of_a_plugin_is_a_server_failure_and_counted(world: World) -> None:
    world.block(".", Plugin(ZeroDivisionError("oops")))
    for _ in range(3):
        assert world.rcode("a.") == "SERVFAIL"
    assert world.count("coredns_panics_total") == 3
    lines = world.stream.getvalue().splitlines()
    assert lines == ['[ERROR] Recovered from panic in server: "dns://:53" ZeroDivisionError: oops']


@pytest.mark.parametrize(
    "record", [address(b"\x01a\x00", -1, b"\x0a\x00\x00\x01"), address(b"\x01a\x00", 1, b"x" * 70000)]
)
def test_a_reply_that_cannot_be_packed_is_a_fault_too(world: World, record: Record) -> None:
    world.block(".", Plugin(Reply(0, 0, (record,))))
    assert world.rcode("a.") == "SERVFAIL"
    assert world.count("coredns_panics_total") == 1


def test_debug_lets_the_fault_through(world: World) -> None:
    world.block(".", Plugin(ZeroDivisionError("oops"))).debug = True
    world.server.debug = True
    with pytest.raises(ZeroDivisionError):
        world.rcode("a.")


async def test_an_answer_that_waits(world: World) -> None:
    async def later(request: Request) -> Reply:
        await asyncio.sleep(0)
        return authoritative(request.query)

    async def broken(request: Request) -> Reply:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    world.block("ok.", Plugin(later))
    world.block("broken.", Plugin(broken))
    rcodes = []
    for name in ("a.ok.", "a.broken."):
        waiting = world.server.serve(make_wire(name), CLIENT, True)
        assert isinstance(waiting, Awaitable)
        wire = await waiting
        assert wire is not None
        rcodes.append(dns.message.from_wire(wire).rcode())
    assert rcodes == [dns.rcode.NOERROR, dns.rcode.SERVFAIL]
    assert world.count("coredns_panics_total") == 1


async def test_then_changes_a_reply_now_or_later() -> None:
    reply = failure(2)

    async def later() -> Reply:
        return reply

    def change(given: Reply) -> Outcome:
        return given.replace(rcode=given.rcode + 1)

    def change_later(given: Reply) -> Outcome:
        return then(later(), change)

    assert then(reply, change).rcode == 3  # type: ignore[union-attr]
    for outcome in (then(later(), change), then(later(), change_later)):
        assert not isinstance(outcome, Reply)
        assert (await outcome).rcode == 3


def test_a_lookup_passes_the_whole_server_and_is_never_unwritten(world: World) -> None:
    org, net = Plugin(), Plugin(failure(2))
    world.block("org.", org)
    world.block("net.", net)
    world.answer("a.org.", rd=False)
    request = org.seen[0]
    found = request.lookup(from_text("b.org."), consts.TYPE_AAAA)
    assert isinstance(found, Reply)
    assert found.answer[0].owner == from_text("b.org.")
    assert (org.seen[1].client, org.seen[1].depth, org.seen[1].query.flags) == (CLIENT, 1, request.query.flags)
    for name, rcode in (("a.net.", consts.SERVFAIL), ("a.com.", consts.REFUSED)):
        found = request.lookup(from_text(name), consts.TYPE_A)
        assert isinstance(found, Reply)
        assert (found.written, found.rcode, found.answer) == (True, rcode, ())


def test_a_lookup_that_never_ends_ends(world: World) -> None:
    endless = Plugin(lambda request: request.lookup(request.query.qname, consts.TYPE_A))
    world.block(".", endless)
    assert world.rcode("a.") == "SERVFAIL"
    assert len(endless.seen) < 20
    assert world.count("coredns_panics_total") == 0
