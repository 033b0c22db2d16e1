"""Answers of the cache are given again by the memo as the cache would give them, as time goes by and entries change."""

from __future__ import annotations

import random
import time
from typing import Any

import dns.flags
import dns.message
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.caching import Clock, Source, nxdomain, positive, servfail
from support.chain import FakeProcess, make_directive, make_site
from waypost.control.catalogue import load_plugin
from waypost.dispatch.memo import NEW, Memo, Sighting
from waypost.dispatch.request import Request
from waypost.dispatch.serve import Server
from waypost.metrics.registry import Counter, Gauge, Histogram
from waypost.plugins.cache.config import parse
from waypost.plugins.cache.handler import Cache
from waypost.plugins.cache.keep import Keeper
from waypost.plugins.cache.metrics import Meters
from waypost.plugins.cache.store import Store
from waypost.toolkit.zonelist import zones_of
from waypost.wire import names
from waypost.wire.reply import Reply

CLIENT = ("192.0.2.1", 4000)
NAMES = [f"{name}.example.org." for name in ("a", "A", "b", "c", "d", "missing", "broken")]
LINES = [
    "cache 20",
    "cache {\nkeepttl\n}",
    "cache 20 {\nsuccess 2\n}",
    "cache 20 {\nserve_stale 10s\n}",
    "cache 20 {\nprefetch 2 1m 50%\n}",
    "cache 20 {\nservfail 3s\n}",
    "cache 20 {\ndisable denial\n}",
]


class NoMemo(Memo):
    """Keeps nothing."""

    def came_before(self, wire: bytes) -> Sighting:
        return NEW


class World:
    """One server: errors, prometheus, loadbalance, a cache and a source that is scripted."""

    def __init__(self, line: str, memo: Memo) -> None:
        self.process = FakeProcess()
        self.clock = Clock()
        self.source = Source()
        self.source.answer = self.answer
        self.ttl = 10
        site = make_site(".", process=self.process)
        for text in ("errors", "prometheus 127.0.0.1:0", "loadbalance"):
            plugin = load_plugin(text.split()[0])
            assert plugin is not None
            plugin.setup(make_directive(text), site)
        config = parse(make_directive(line))
        self.keeper = Keeper(config, Store(config, random.Random(1)), now=self.clock, wall=self.clock)
        meters = Meters(self.process.metrics)
        self.cache = Cache(
            config, zones_of((".",), ()), self.keeper, lambda server: meters.cells(server, ".", ""), site.log
        )
        site.add(self.cache)
        site.add(self.source)
        site.link()
        self.memo = memo
        self.server = Server("dns", "", "53", site.log, self.process.metrics)
        self.server.memos = (memo, memo)
        self.process.metrics.before_scrape.insert(0, memo.fold)
        self.server.add(site.zones[0], site)
        self.answers: list[object] = []

    def answer(self, request: Request) -> Reply:
        kind = request.query.name[1 : 1 + request.query.name[0]]
        if kind == b"missing":
            return nxdomain(request, self.ttl)
        if kind == b"broken":
            return servfail(request)
        made = positive(request, self.ttl, f"192.0.2.{len(self.source.seen) % 250}")
        return made.replace(answer=made.answer * 2) if kind == b"d" else made

    def ask(self, name: str, *flags: str) -> None:
        query = dns.message.make_query(name, "A", want_dnssec="DO" in flags, use_edns="EDNS" in flags or None)
        query.flags = dns.flags.from_text(" ".join(flag for flag in flags if flag in ("RD", "AD", "CD")))
        wire = query.to_wire()
        out = self.memo.recall(wire, time.perf_counter(), lambda number: CLIENT)
        out = out or self.server.serve(wire, CLIENT, True)  # type: ignore[assignment]
        assert isinstance(out, bytes)
        message = dns.message.from_wire(out)
        sections = [[rrset.to_text() for rrset in section] for section in message.sections]
        self.answers.append((out[:2] == wire[:2], message.flags, message.rcode(), message.edns, sections))

    def play(self, steps: list[tuple[str, Any]]) -> None:
        for step, value in steps:
            if step == "ask":
                self.ask(*value)
            elif step == "wait":
                self.clock.advance(value)
            elif step == "ttl":
                self.ttl = value
            else:
                self.cache.flush(names.from_text(value), below=False)

    def shown(self) -> dict[str, object]:
        out: dict[str, object] = {}
        for name, family in self.process.metrics.collect().items():
            for labels, cell in family.cells.items():
                if isinstance(cell, Histogram):
                    out[f"{name}{labels}"] = sum(cell.counts) if "duration" in name else (cell.counts, cell.total)
                elif isinstance(cell, Counter | Gauge):
                    out[f"{name}{labels}"] = cell.value
        return out


FLAGS = [("RD",), ("RD", "EDNS"), (), ("RD", "DO"), ("RD", "CD"), ("RD", "AD")]
ASK = st.tuples(
    st.just("ask"), st.builds(lambda name, flags: (name, *flags), st.sampled_from(NAMES), st.sampled_from(FLAGS))
)
STEPS = st.one_of(
    ASK,
    ASK,
    ASK,
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.4, 1.0, 3.0, 9.0, 30.0])),
    st.tuples(st.just("ttl"), st.sampled_from([0, 1, 5, 10, 60])),
    st.tuples(st.just("flush"), st.sampled_from(NAMES[2:4])),
)


@pytest.mark.parametrize("line", LINES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(STEPS, min_size=10, max_size=60))
async def test_with_and_without(line: str, steps: list[tuple[str, Any]]) -> None:
    worlds = [World(line, Memo()), World(line, NoMemo())]
    repeated = [step for n, step in enumerate(steps) for _ in range(1 + n % 3 if step[0] == "ask" else 1)]
    for world in worlds:
        world.play(repeated)
    assert worlds[0].answers == worlds[1].answers
    assert worlds[0].shown() == worlds[1].shown()


@pytest.mark.parametrize(
    ("line", "name", "kept"),
    [
        ("cache 20", "a.example.org.", 1),
        ("cache 20", "missing.example.org.", 1),
        ("cache 20", "d.example.org.", 0),  # its two addresses take turns
        ("cache 20 {\nprefetch 2\n}", "a.example.org.", 0),  # hits decide what is fetched early
    ],
)
def test_what_is_kept(line: str, name: str, kept: int) -> None:
    world = World(line, Memo())
    for _ in range(3):
        world.ask(name)
    assert len(world.memo) == kept
    asked = len(world.source.seen)
    world.clock.advance(5)
    world.ask(name)
    assert len(world.source.seen) == asked


def test_a_hit_that_is_kept_still_counts_as_asked_for() -> None:
    """It must not be put away, or evicted before others, because the memo answers for it."""
    world = World("cache 20", Memo())
    shelf = world.keeper.store.success
    for _ in range(3):
        world.ask("a.example.org.")
    (key,) = shelf
    shelf._old, shelf._young = shelf._young, {}
    world.ask("a.example.org.")
    assert key in shelf._young
