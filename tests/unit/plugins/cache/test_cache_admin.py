"""What an admin endpoint lists and flushes."""

from __future__ import annotations

import asyncio

from support.caching import Rig, nxdomain, positive, reply, servfail
from waypost.dispatch.handler import CacheAdmin, CacheEntry
from waypost.wire import consts, names
from waypost.wire.names import from_text

STALE = "cache 60 {\nserve_stale 1h\n}"


def listed(rig: Rig, text: str = ".", *, below: bool = True) -> list[CacheEntry]:
    return sorted(rig.cache.cached(from_text(text), below=below))


def listed_names(rig: Rig, text: str = ".", *, below: bool = True) -> list[str]:
    return sorted(names.to_text(entry.name) for entry in listed(rig, text, below=below))


def test_the_cache_is_found_by_what_it_can_do() -> None:
    assert isinstance(Rig().cache, CacheAdmin)


def test_an_entry_tells_its_key_its_kind_and_its_age() -> None:
    rig = Rig("cache 60")
    rig.source.answer = lambda request: reply(
        request, "@ 60 IN A 192.0.2.1", "@ 60 IN A 192.0.2.2", additional=("a.org. 60 IN A 192.0.2.3",)
    )
    rig.ask("WWW.example.org.", do=True, cd=True)
    rig.clock.advance(10.9)
    (entry,) = listed(rig)
    assert entry == CacheEntry(
        name=from_text("www.example.org."),
        qtype=consts.TYPE_A,
        qclass=consts.CLASS_IN,
        do=True,
        cd=True,
        rcode=consts.NOERROR,
        denial=False,
        ttl=50,
        age=10,
        stale=False,
        records=3,
    )


def test_denials_and_errors_are_of_the_other_kind() -> None:
    rig = Rig()
    for answer, rcode in ((nxdomain, consts.NXDOMAIN), (servfail, consts.SERVFAIL)):
        rig.source.answer = answer
        rig.ask(f"{rcode}.example.org.")
        (entry,) = listed(rig, f"{rcode}.example.org.")
        assert (entry.denial, entry.rcode) == (True, rcode)


def test_keepttl_does_not_hide_what_is_left() -> None:
    rig = Rig("cache 60 {\nkeepttl\n}")
    rig.ask()
    rig.clock.advance(20)
    assert [entry.ttl for entry in listed(rig)] == [40]


def test_an_expired_entry_is_stale_and_then_gone() -> None:
    rig = Rig(STALE)
    rig.ask()
    for seconds, shown in ((60, [(0, 60, True)]), (3600, [])):
        rig.clock.advance(seconds)
        assert [(entry.ttl, entry.age, entry.stale) for entry in listed(rig)] == shown


def test_without_serve_stale_nothing_is_stale() -> None:
    rig = Rig("cache 60")
    rig.ask()
    rig.clock.advance(60)
    assert listed(rig) == []


def test_a_name_and_what_is_below_it() -> None:
    rig = Rig()
    for name in ("example.org.", "a.b.example.org.", "notexample.org.", "org."):
        rig.ask(name)
    rig.source.answer = nxdomain
    rig.ask("example.org.", "AAAA")
    assert listed_names(rig, "example.org", below=False) == ["example.org."] * 2
    assert listed_names(rig, "example.org") == ["a.b.example.org.", *["example.org."] * 2]
    assert len(listed_names(rig)) == 5
    assert listed_names(rig, ".", below=False) == []


def test_changes_while_it_is_listed_do_no_harm() -> None:
    rig = Rig()
    for number in range(20):
        rig.ask(f"n{number}.example.org.")
    listing = iter(rig.cache.cached(names.ROOT, below=True))
    next(listing)
    rig.cache.flush(names.ROOT, below=True)
    rig.ask("new.example.org.")
    assert list(listing) == []


def test_a_flush_drops_what_is_chosen_in_both_halves() -> None:
    rig = Rig()
    for name in ("example.org.", "a.example.org.", "notexample.org."):
        rig.ask(name)
    rig.source.answer = nxdomain
    rig.ask("b.example.org.")
    assert rig.cache.flush(from_text("a.example.org."), below=False) == 1
    assert listed_names(rig) == ["b.example.org.", "example.org.", "notexample.org."]
    assert rig.cache.flush(from_text("example.org."), below=True) == 2
    assert listed_names(rig) == ["notexample.org."]
    assert rig.metric("coredns_cache_entries", "success") == 1
    assert rig.metric("coredns_cache_entries", "denial") == 0
    rig.source.answer = lambda request: positive(request, address="192.0.2.2")
    before = rig.asked
    rig.ask("b.example.org.")
    assert rig.asked == before + 1


def test_a_flush_counts_what_could_have_been_served_and_drops_the_rest_too() -> None:
    rig = Rig("cache 60")
    rig.ask("old.example.org.")
    rig.clock.advance(60)
    rig.ask("new.example.org.")
    assert rig.cache.flush(names.ROOT, below=True) == 1
    assert len(rig.store.success) == 0


async def test_an_answer_on_its_way_during_a_flush_is_not_kept() -> None:
    """It may be what the flush was for."""
    rig = Rig()
    rig.source.later = True
    waiting = asyncio.ensure_future(rig.ask_later())
    await asyncio.sleep(0)
    assert rig.cache.flush(names.ROOT, below=True) == 0
    rig.source.release()
    assert (await waiting).answer
    assert listed(rig) == []


async def test_a_refresh_on_its_way_during_a_flush_is_not_kept() -> None:
    rig = Rig(STALE)
    rig.ask()
    rig.clock.advance(100)
    rig.source.later = True
    rig.ask()
    rig.cache.flush(names.ROOT, below=True)
    rig.source.release()
    for _ in range(5):
        await asyncio.sleep(0)
    assert listed(rig) == []
    await rig.cache.close()
