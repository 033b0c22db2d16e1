"""The shelf: entries are bytes and objects in turn, and nobody can tell."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from support.caching import Rig, nxdomain, positive, records, request_with
from waypost.plugins.cache.frozen import freeze, thaw
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.key import DO_SHIFT, key_tail, parts
from waypost.plugins.cache.shelf import Shelf
from waypost.wire import consts
from waypost.wire.reply import Reply

# Of ordinary items two fit.
FEW = 5000


def key(n: int) -> bytes:
    return b"\x03%03d\x00" % n + key_tail(1, 1, 0)


def made(n: int = 1, now: float = 10.0) -> Item:
    reply = Reply(
        0, consts.RA, records(f"x. 30 IN A 192.0.2.{n % 256}"), (), records("y. 30 IN AAAA ::1"), depends=(b"k",)
    )
    return Item(reply, now, 30, 30)


def content(item: Item) -> dict[str, object]:
    return {name: getattr(item, name) for name in Item.__slots__ if name != "replies"}


@given(
    st.integers(0, 4095),
    st.integers(1, 2**31 - 1),
    st.floats(0, 1e9),
    st.sampled_from(("", "*.example.org.")),
    st.tuples(st.integers(0, 5), st.floats(0, 1e9), st.floats(0, 1e9)),
)
def test_a_thawed_item_is_the_one_that_was_frozen(
    rcode: int, ttl: int, window: float, wildcard: str, history: tuple[int, float, float]
) -> None:
    reply = Reply(rcode, consts.AD, records(f"A.x. {ttl} IN A 192.0.2.1", f"b. {ttl} IN TXT \\000"), depends=(b"\0",))
    item = Item(reply, 12.5, ttl, 0.5)
    item.positive = True
    item.until += window
    item.wildcard = wildcard
    item.hits, item.last_hit, item.retry_at = history
    assert content(thaw(freeze(item))) == content(item)


def test_an_item_shown_at_an_age_is_frozen_with_what_it_is_shown_as() -> None:
    item = made()
    item.reply(7, 0)
    other = thaw(freeze(item))
    assert {record.ttl for record in other.reply(7, 0).answer} == {7}
    assert {record.ttl for record in other.reply(30, 0).answer} == {30}


def test_a_key_says_what_was_asked() -> None:
    request = request_with("WWW.example.org.", "AAAA", do=True, cd=True).query
    data = request.name + key_tail(28, 1, 0x8000 >> DO_SHIFT | consts.CD)
    assert parts(data) == (b"\x03www\x07example\x03org\x00", 28, 1, True, True)


def test_an_item_stays_the_same_object_while_it_is_ready() -> None:
    shelf = Shelf(256, random.Random(1), history=False, ready_bytes=FEW)
    for n in range(8):
        shelf.put(key(n), made(n))
    item = shelf.get(key(0))
    assert item is shelf.get(key(0)) is shelf.peek(key(0))
    for n in range(1, 8):
        shelf.get(key(n))
    assert shelf.get(key(0)) is not item
    assert shelf.get(key(0)).answer == made(0).answer  # type: ignore[union-attr]


def test_what_is_ready_is_bounded() -> None:
    shelf = Shelf(256, random.Random(1), history=False, ready_bytes=FEW)
    for n in range(200):
        shelf.put(key(n), made(n))
    items = [shelf.get(key(n)) for n in range(200)]
    ready = [item for n, item in enumerate(items) if shelf.peek(key(n)) is item]
    assert 0 < sum(item.weight for item in ready if item is not None) <= FEW
    assert len(shelf) == 200


def test_history_outlives_being_ready_where_it_is_wanted() -> None:
    for wanted in (False, True):
        shelf = Shelf(256, random.Random(1), history=wanted, ready_bytes=FEW)
        for n in range(8):
            shelf.put(key(n), made(n))
        item = shelf.get(key(0))
        assert item is not None
        item.hits = 4
        for n in range(1, 8):
            shelf.get(key(n))
        again = shelf.get(key(0))
        assert again is not None
        assert again.hits == (4 if wanted else 0)


def test_a_change_reaches_an_item_that_was_put_away_meanwhile_and_none_that_took_its_place() -> None:
    shelf = Shelf(256, random.Random(1), history=True, ready_bytes=FEW)
    for n in range(8):
        shelf.put(key(n), made(n))
    item = shelf.get(key(0))
    assert item is not None
    for n in range(1, 8):
        shelf.get(key(n))
    item.retry_at = 99.0
    shelf.changed(key(0), item)
    assert shelf.get(key(0)).retry_at == 99.0  # type: ignore[union-attr]
    shelf.put(key(0), made(0, now=20.0))
    shelf.changed(key(0), item)
    assert shelf.get(key(0)).retry_at == 20.0  # type: ignore[union-attr]


@given(st.lists(st.tuples(st.sampled_from("ppggo"), st.integers(0, 7), st.integers(0, 255)), max_size=60))
def test_it_is_a_map(steps: list[tuple[str, int, int]]) -> None:
    shelf = Shelf(4, random.Random(1), history=True, ready_bytes=FEW)
    model: dict[bytes, int] = {}
    for step, n, number in steps:
        if step == "p":
            model[key(n)] = number
            for victim, lost in shelf.put(key(n), made(number)):
                assert lost.answer == made(model.pop(victim)).answer
        elif step == "o":
            lost_item = shelf.pop(key(n))
            was = model.pop(key(n), None)
            assert (lost_item and lost_item.answer) == (None if was is None else made(was).answer)
        else:
            item = shelf.get(key(n))
            assert (item and item.answer) == (made(model[key(n)]).answer if key(n) in model else None)
        assert set(shelf) == set(model)
        assert len(shelf) == len(model) <= 4
    shelf.clear()
    assert [shelf.get(key(n)) for n in range(8)] == [None] * 8
    assert shelf.weight == 0


async def test_a_million_names_would_not_fill_the_memory_with_objects() -> None:
    """Neither kind of entry has objects of its own after its answer was sent."""
    rig = Rig("cache 3600")
    for answer in (positive, nxdomain):
        rig.source.answer = answer
        rig.ask(f"{answer.__name__}.example.org.")
    for shelf in (rig.store.success, rig.store.denial):
        (only,) = shelf
        assert shelf.peek(only) is not shelf.peek(only)
        assert shelf.weight < 450
