"""Own data that changes: entries are dropped at once, and an answer on its way meanwhile is not kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from support.caching import Answer, Rig, nxdomain, positive, servfail
from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, run
from waypost.dispatch.request import Request
from waypost.plugins.cache import setup
from waypost.plugins.cache.store import ChangeLog
from waypost.toolkit.zonelist import zones_of
from waypost.wire.reply import Reply

WEB, SHOP = b"\x03web\x04shop", b"\x04shop"


def depending(*keys: bytes) -> Answer:
    return lambda request: positive(request).replace(depends=keys)


def asked_again(rig: Rig, name: str, **flags: bool) -> bool:
    before = rig.asked
    rig.ask(name, **flags)
    return rig.asked > before


def test_a_change_drops_what_depends_on_it_of_every_type_and_nothing_else() -> None:
    rig = Rig()
    rig.source.answer = depending(WEB, b"\x0a\x00\x00\x01")
    rig.ask("web.example.org.")
    rig.ask("web.example.org.", "AAAA")
    rig.ask("web.example.org.", do=True)
    rig.source.answer = lambda request: nxdomain(request).replace(depends=(SHOP,))
    rig.ask("shop.example.org.")
    rig.source.answer = positive
    rig.ask("www.example.com.")
    rig.cache.invalidate([WEB])
    assert rig.metric("coredns_cache_entries", "success") == 1
    assert rig.metric("coredns_cache_entries", "denial") == 1
    assert asked_again(rig, "web.example.org.")
    assert asked_again(rig, "web.example.org.", do=True)
    assert not asked_again(rig, "shop.example.org.")
    assert not asked_again(rig, "www.example.com.")
    rig.cache.invalidate([SHOP, b"unknown"])
    assert asked_again(rig, "shop.example.org.")


def test_a_change_of_everything_drops_the_zones_and_what_depends_on_any_key() -> None:
    rig = Rig()
    rig.source.answer = servfail
    rig.ask("a.cluster.local.")
    rig.source.answer = depending(WEB)
    rig.ask("alias.example.org.")
    rig.source.answer = positive
    rig.ask("www.example.com.")
    rig.cache.invalidate_below(zones_of(("cluster.local",), ()))
    assert asked_again(rig, "a.cluster.local.")
    assert asked_again(rig, "alias.example.org.")
    assert not asked_again(rig, "www.example.com.")


async def test_an_answer_made_before_the_change_is_not_kept_after_it() -> None:
    for change, kept in ((WEB, False), (SHOP, True)):
        rig = Rig()
        rig.source.later = True
        rig.source.answer = depending(WEB)
        task = asyncio.ensure_future(rig.ask_later())
        await asyncio.sleep(0)
        rig.cache.invalidate([change])
        rig.source.release()
        await task
        assert bool(len(rig.store.success)) == kept


def test_the_index_does_not_grow_with_entries_that_are_gone() -> None:
    rig = Rig("cache {\nsuccess 1\n}")
    for n in range(3000):
        rig.source.answer = depending(b"key%d" % n, WEB)
        rig.ask(f"n{n}.example.org.")
    assert len(rig.store._dependents) == 1024 + 1
    rig.cache.invalidate([WEB])
    assert rig.store._dependents == {}
    assert len(rig.store.success) == 0


def test_the_index_follows_a_key_that_moves_between_the_halves() -> None:
    rig = Rig("cache 60 {\nserve_stale\nserve_stale_policy prefer_positive\n}")
    rig.source.answer = depending(WEB, b"a")
    rig.ask()
    rig.clock.advance(100)
    rig.source.answer = lambda request: nxdomain(request).replace(depends=(WEB, b"b"))
    rig.ask()
    assert len(rig.store.success) == len(rig.store.denial) == 1
    rig.cache.invalidate([b"b"])
    assert len(rig.store.success) == len(rig.store.denial) == 0
    assert rig.store._dependents == {}


def test_the_change_log_is_bounded_and_errs_towards_not_keeping() -> None:
    log = ChangeLog()
    before = log.generation
    for n in range(10_000):
        log.add(b"%d" % n)
    assert len(log._generations) <= 4096
    assert not log.unchanged((b"never",), before)
    now = log.generation
    log.add(b"x")
    assert log.unchanged((b"y",), now)
    assert not log.unchanged((b"y", b"x"), now)


class Feed(FakeNext):
    """A plugin with live data."""

    zones = (b"\x07cluster\x05local\x00",)
    version = 0

    def __init__(self) -> None:
        super().__init__(Reply(0, 0), name="kubernetes")
        self.callbacks: list[Callable[..., None]] = []

    def subscribe(self, callback: Callable[..., None]) -> object:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def serve(self, request: Request) -> Reply:
        self.seen.append(request)
        return positive(request).replace(depends=(WEB,))


async def test_the_cache_listens_to_the_handlers_of_its_block_while_it_serves() -> None:
    process = FakeProcess()
    site = make_site(".", process=process)
    setup(make_directive("cache 30"), site)
    feed = Feed()
    site.add(feed)
    site.link()
    await run(site.hooks.start)
    assert site.chain is not None

    def ask(name: str = "web.cluster.local.") -> int:
        before = len(feed.seen)
        site.chain.serve(make_request(name))  # type: ignore[union-attr]
        return len(feed.seen) - before

    assert ask() == 1
    await run(site.hooks.active)
    assert ask() == 1  # what changed before the cache listened is not known, so nothing is kept from then
    assert ask() == 0
    (callback,) = feed.callbacks
    callback([SHOP])
    assert ask() == 0
    callback([WEB])
    assert ask() == 1
    callback(None)
    assert ask() == 1
    await run(site.hooks.stop)
    assert feed.callbacks == []


async def test_the_content_outlives_a_reload_with_equal_settings() -> None:
    process = FakeProcess()

    async def configuration(text: str, view: str = "") -> FakeNext:
        site = make_site(".", process=process)
        setup(make_directive(text), site)
        site.view = view  # `view` comes after `cache` in the order
        source = FakeNext(Reply(0, 0), name="source")
        site.add(source)
        site.link()
        await run(site.hooks.start)
        await run(site.hooks.active)
        assert site.chain is not None
        site.chain.serve(make_request("www.example.org."))
        await run(site.hooks.stop)
        return source

    assert len((await configuration("cache 30")).seen) == 1
    assert len((await configuration("cache 30")).seen) == 0
    assert len((await configuration("cache 31")).seen) == 1
    assert len((await configuration("cache 30", view="inside")).seen) == 1


async def test_a_store_that_nobody_holds_is_emptied() -> None:
    rig = Rig()
    rig.source.answer = depending(WEB)
    rig.ask()
    await rig.store.close()
    assert len(rig.store.success) == 0
    assert asked_again(rig, "www.example.org.")
