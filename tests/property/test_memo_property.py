"""A server with its memo and one without are the same to clients and dashboards, whatever is asked and changed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import dns.message
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.chain import FakeProcess, make_directive, make_site, make_wire
from support.metrics_shown import scraped
from support.objects import endpoint, endpoint_slice, namespace, service
from waypost.cluster.index import Index
from waypost.control.catalogue import load_plugin
from waypost.dispatch.ahead import Answer
from waypost.dispatch.handler import ChangeFeed, Handler, Outcome
from waypost.dispatch.memo import NEW, Memo, Sighting
from waypost.dispatch.request import Address, Request
from waypost.dispatch.serve import Server
from waypost.dispatch.site import Site
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.plugins.order import ORDER
from waypost.wire.reply import Reply

NAMES = [
    f"{name}.cluster.local."
    for name in (
        *("web.a.svc", "WEB.a.svc", "db.a.svc", "x.web.a.svc", "web.b.svc", "a.svc", "out"),
        # Siblings, some of which are there at times.
        *("nope.a.svc", "gone.a.svc", "NONE.a.svc", "late.a.svc", "y.late.a.svc", "x.nope.a.svc", "y.nope.a.svc"),
        *("Z.nope.a.svc", "a.b.nope.a.svc", "c.b.nope.a.svc", "d.B.nope.a.svc"),
        *("many.a.svc", "six.a.svc", "two.a.svc", "web.c.svc", "wob.a.svc"),
    )
]
STOCK = ["errors", "prometheus 127.0.0.1:0", "loadbalance", "cache 30 {\ndisable success\ndisable denial\n}"]
CLIENTS = [("192.0.2.1", 4000), ("2001:db8::1", 4001, 0, 0)]


class NoMemo(Memo):
    """Keeps nothing."""

    def came_before(self, wire: bytes) -> Sighting:
        return NEW


def asked(server: Server, wire: bytes, client: Address, datagram: bool) -> Answer:
    """As listeners ask."""
    if datagram:
        kept = server.memos[len(client) > 2].recall(wire, time.perf_counter(), lambda number: client)
        if isinstance(kept, bytes):
            return kept
    return server.serve(wire, client, datagram)


@dataclass
class World:
    """One server with the stock chain over an index of its own."""

    index: Index
    server: Server
    process: FakeProcess
    site: Site
    answers: list[object] = field(default_factory=list)

    def ask(self, name: str, qtype: str, client: int, bufsize: int | None, datagram: bool, rd: bool) -> None:
        wire = len(self.answers).to_bytes(2, "big") + make_wire(name, qtype, bufsize=bufsize, rd=rd)[2:]
        answer = asked(self.server, wire, CLIENTS[client], datagram)
        assert isinstance(answer, bytes)
        assert answer[:2] == wire[:2]
        message = dns.message.from_wire(answer)
        # The order of addresses is drawn anew for each answer.
        sections = [sorted("\n".join(map(str, section)).splitlines()) for section in message.sections]
        self.answers.append((message.flags, message.rcode(), message.edns, message.payload, sections))

    def shown(self) -> dict[str, object]:
        return scraped(self.process)

    def logged(self) -> list[str]:
        """Lines without how long it took."""
        return [line.rpartition(" ")[0] for line in self.process.lines]


def make_world(extra: str, memos: tuple[Memo, Memo]) -> World:
    process = FakeProcess()
    site = make_site(".", process=process)
    lines = [*STOCK, extra] if extra else STOCK
    for line in sorted(lines, key=lambda line: ORDER.index(line.split()[0])):
        plugin = load_plugin(line.split()[0])
        assert plugin is not None
        plugin.setup(make_directive(line), site)
    clock = iter(range(100, 10**6))
    index = Index(lambda: float(next(clock) // 4))
    config = parse(make_directive("kubernetes cluster.local {\nttl 30\n}"), site.zones)
    site.add(Kubernetes(config, index, ()))
    site.link()
    server = Server("dns", "", "53", site.log, process.metrics)
    server.memos = memos
    for memo in memos:
        process.metrics.before_scrape.insert(0, memo.fold)
    server.add(site.zones[0], site)
    for handler in site.all_handlers():
        if isinstance(handler, ChangeFeed):
            for memo in memos:
                memo.changed(None, handler.version)
                handler.subscribe(lambda keys, m=memo, feed=handler: m.changed(keys, feed.version))  # type: ignore[misc]
    return World(index, server, process, site)


questions = st.tuples(
    st.just("ask"),
    st.sampled_from(NAMES),
    st.sampled_from(["A", "AAAA", "SRV", "TXT", "SOA"]),
    st.integers(0, 1),
    st.sampled_from([None, 1232]),
    st.sampled_from([True, True, True, False]),
    st.booleans(),
)
changes = st.tuples(
    st.just("change"),
    st.sampled_from(
        [
            ("Service", service("a/web", "10.0.0.1"), False),
            ("Service", service("a/web", "10.0.0.2"), False),
            ("Service", service("a/web", "10.0.0.1"), True),
            ("Service", service("b/web", "10.0.0.9", "fd00::9"), False),
            ("Service", service("a/late", "10.0.0.5"), False),
            ("Service", service("a/many", "10.0.0.5"), False),
            ("Service", service("a/wob", "10.0.0.6"), False),
            ("Service", service("a/six", "fd00::6"), False),
            ("Service", service("a/two", "10.0.0.8", "fd00::8"), False),
            ("Service", service("c/web", "10.0.0.9"), False),
            ("Service", service("a/late", "10.0.0.5"), True),
            ("Service", service("a/db", "None"), False),
            ("EndpointSlice", endpoint_slice("a/s", endpoint("10.1.0.1"), endpoint("10.1.0.2"), of="db"), False),
            ("EndpointSlice", endpoint_slice("a/s", endpoint("10.1.0.3"), of="db"), False),
            ("Namespace", namespace("a"), False),
            ("Namespace", namespace("a"), True),
            ("Namespace", namespace("b"), False),
        ]
    ),
)


def play(world: World, steps: list[tuple[object, ...]]) -> None:
    for step in steps:
        if step[0] == "ask":
            world.ask(*step[1:])  # type: ignore[arg-type]
        else:
            kind, item, gone = step[1]  # type: ignore[misc]
            sink = world.index.sinks[kind]
            if gone:
                sink.removed(item.metadata.namespace, item.metadata.name)
            else:
                sink.changed(item)


@pytest.mark.parametrize("extra", ["", "log", "log a.svc.cluster.local {\nclass denial\n}"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(steps=st.lists(st.one_of(questions, questions, questions, changes), min_size=10, max_size=80))
def test_with_and_without(extra: str, steps: list[tuple[object, ...]]) -> None:
    asyncio.run(compared(extra, steps))


async def compared(extra: str, steps: list[tuple[object, ...]]) -> None:
    worlds = [make_world(extra, memos) for memos in ((Memo(), Memo()), (NoMemo(), NoMemo()))]
    repeated = [step for step in steps for _ in range(3 if step[0] == "ask" else 1)]
    for world in worlds:
        play(world, repeated)
    assert worlds[0].answers == worlds[1].answers
    assert worlds[0].shown() == worlds[1].shown()
    assert worlds[0].logged() == worlds[1].logged()


def kept_after(world: World, times: int = 3) -> int:
    for _ in range(times):
        world.ask("web.a.svc.cluster.local.", "A", 0, None, True, True)
    return len(world.server.memos[0])


def filled(extra: str = "") -> World:
    world = make_world(extra, (Memo(), Memo()))
    world.index.sinks["Namespace"].changed(namespace("a"))
    world.index.sinks["Service"].changed(service("a/web", "10.0.0.1"))
    return world


def test_the_second_coming_is_kept() -> None:
    assert (kept_after(filled(), 1), kept_after(filled(), 2)) == (0, 1)


@pytest.mark.parametrize("extra", ["nsid", "bufsize 512", "hosts {\n192.0.2.1 a.\nfallthrough\n}"])
def test_a_plugin_that_looks_at_clients_or_names_keeps_it_off(extra: str) -> None:
    assert kept_after(filled(extra)) == 0


def test_views_and_metadata_keep_it_off() -> None:
    for what in ("filters", "collect"):
        world = filled()
        setattr(world.site, what, [lambda _: True] if what == "filters" else lambda _: None)
        world.server.add(b"\x03org\x00", world.site)
        assert kept_after(world) == 0


def test_it_is_bounded() -> None:
    memo = Memo()
    for n in range(40_000):
        packet = n.to_bytes(8, "big") * 30
        memo.keep(packet, packet, Reply(0, 0, depends=(b"k%d" % (n % 50),), steady="source"), ())
    assert memo._bytes <= 8 * 1024 * 1024
    assert sum(map(len, memo._dependents.values())) == len(memo._kept)


def test_a_change_is_answered_at_once() -> None:
    world = filled()
    kept_after(world)
    world.index.sinks["Service"].changed(service("a/web", "10.0.0.7"))
    world.ask("web.a.svc.cluster.local.", "A", 0, None, True, True)
    assert "10.0.0.7" in str(world.answers[-1])


def siblings_of(world: World, count: int) -> int:
    """How many of so many random names under a Service that does not exist get past the memo."""
    before = dict(world.server.memos[0]._families._families)
    chained: list[Request] = []
    chain = world.site.chain
    assert chain is not None
    world.site.chain = Spy(chain, chained)
    for n in range(count):
        world.ask(f"{n:04}.nope.a.svc.cluster.local.", "A", 0, None, True, True)
    world.site.chain = chain
    assert before == {}
    return len(chained)


class Spy:
    """Notes who comes by."""

    name = "spy"

    def __init__(self, following: Handler, seen: list[Request]) -> None:
        self.next = following
        self.seen = seen

    def serve(self, request: Request) -> Outcome:
        self.seen.append(request)
        return self.next.serve(request)


def test_siblings_of_a_name_that_was_denied_twice_need_no_chain() -> None:
    assert siblings_of(filled(), 10) == 2


def test_a_zone_among_siblings_keeps_them_apart() -> None:
    """Another block, or a plugin's zone, may have another answer for one of them."""
    world = filled()
    world.server.add(b"\x040005\x04nope\x01a\x03svc\x07cluster\x05local\x00", world.site)
    assert siblings_of(world, 10) == 10


def test_a_service_that_comes_to_be_is_seen_among_siblings() -> None:
    world = filled()
    siblings_of(world, 3)
    world.index.sinks["Service"].changed(service("a/nope", "10.0.0.7"))
    world.ask("0009.nope.a.svc.cluster.local.", "A", 0, None, True, True)
    world.ask("nope.a.svc.cluster.local.", "A", 0, None, True, True)
    assert "10.0.0.7" in str(world.answers[-1])


def test_families_are_bounded() -> None:
    memo = Memo()
    for n in range(20_000):
        wire = make_wire(f"x.y{n}.svc.cluster.local.", "A")
        reply = Reply(3, 0)
        reply.alike = lambda label: (label, b"")
        memo.keep_for_siblings(wire, wire, len(wire), reply, ())
    assert memo._families._bytes <= 4 * 1024 * 1024
    assert len(memo._tallies._tallies) == 1


def test_siblings_that_are_there_need_no_chain() -> None:
    world = filled()
    for n in range(10):
        world.index.sinks["Service"].changed(service(f"a/s{n}", f"10.0.1.{n}"))
    chained: list[Request] = []
    assert world.site.chain is not None
    world.site.chain = Spy(world.site.chain, chained)
    for qtype in ("A", "AAAA"):
        for n in range(10):
            world.ask(f"s{n}.a.svc.cluster.local.", qtype, 0, None, True, True)
            assert (f"10.0.1.{n}" in str(world.answers[-1])) == (qtype == "A")
    assert len(chained) == 4
    world.index.sinks["Namespace"].removed("", "a")
    world.ask("s9.a.svc.cluster.local.", "A", 0, None, True, True)
    assert "10.0.1.9" not in str(world.answers[-1])
