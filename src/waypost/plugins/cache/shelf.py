"""The entries of one half of the cache. All are kept as bytes; those that are asked for are ready as objects too.

What is ready is bounded, so names that are asked for once, however many, cost what their bytes do, and the garbage
collector has nothing to look at in them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from waypost.plugins.cache.frozen import freeze, thaw
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.key import Key
from waypost.toolkit.cachemap import CacheMap

# As if every entry were this large. An ordinary one takes a tenth of it.
_BYTES_PER_ENTRY = 4096
# What an entry takes beside its value's bytes, about: the map's share, the key, the head of an object.
_OVERHEAD = 220
# Twice what the ordinary items of a cache of the default capacity take.
_READY_BYTES = 20 * 1024 * 1024


class Shelf:
    """A bounded map of items. With `history`, what hits and failures change in an item outlives its being ready.

    Ready items have two generations: the younger one has what was asked for since the older one was full, and when it
    is full too it takes its place.
    """

    __slots__ = ("_frozen", "_half", "_history", "_old", "_young", "_young_bytes")

    def __init__(self, capacity: int, rng: random.Random, *, history: bool, ready_bytes: int = _READY_BYTES) -> None:
        self._frozen: CacheMap[Key, bytes] = CacheMap(
            capacity, rng, max_weight=capacity * _BYTES_PER_ENTRY, weigh=lambda data: len(data) + _OVERHEAD
        )
        self._young: dict[Key, Item] = {}
        self._old: dict[Key, Item] = {}
        self._young_bytes = 0
        self._half = ready_bytes // 2
        self._history = history

    def __len__(self) -> int:
        return len(self._frozen)

    def __contains__(self, key: Key) -> bool:
        return key in self._frozen

    def __iter__(self) -> Iterator[Key]:
        """Every key, in no order; the shelf must not change meanwhile."""
        return iter(self._frozen)

    @property
    def weight(self) -> int:
        """Bytes of memory that all entries take, about, but for what is ready."""
        return self._frozen.weight

    def get(self, key: Key) -> Item | None:
        """An item that is asked for, None if there is none."""
        item = self._young.get(key)
        if item is not None:
            return item
        item = self._old.pop(key, None)
        if item is None:
            data = self._frozen.get(key)
            if data is None:
                return None
            item = thaw(data)
        self._make_young(key, item)
        return item

    def peek(self, key: Key) -> Item | None:
        """The same for somebody who only looks."""
        item = self._young.get(key) or self._old.get(key)
        if item is not None:
            return item
        data = self._frozen.get(key)
        return None if data is None else thaw(data)

    def put(self, key: Key, item: Item) -> list[tuple[Key, Item]]:
        """Keep an item instead of what the key had; gives the entries evicted for it."""
        self._pop_ready(key)
        evicted = self._frozen.put(key, freeze(item))
        return [(victim, self._pop_ready(victim) or thaw(data)) for victim, data in evicted]

    def pop(self, key: Key) -> Item | None:
        """Take out an item."""
        data = self._frozen.pop(key)
        return None if data is None else self._pop_ready(key) or thaw(data)

    def changed(self, key: Key, item: Item) -> None:
        """What is not an answer has changed in this item; it may have been put away, or replaced, since it was got."""
        kept = self.peek(key)
        if kept is not None and kept is not item and kept.stored == item.stored:
            kept.hits, kept.last_hit, kept.retry_at = item.hits, item.last_hit, item.retry_at
            self._frozen.renew(key, freeze(kept))

    def clear(self) -> None:
        """Forget everything."""
        self._frozen.clear()
        self._young.clear()
        self._old.clear()
        self._young_bytes = 0

    def _make_young(self, key: Key, item: Item) -> None:
        if self._young_bytes + item.weight > self._half:
            if self._history:
                for old_key, old in self._old.items():
                    self._frozen.renew(old_key, freeze(old))
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young[key] = item
        self._young_bytes += item.weight

    def _pop_ready(self, key: Key) -> Item | None:
        item = self._young.pop(key, None)
        if item is None:
            return self._old.pop(key, None)
        self._young_bytes -= item.weight
        return item
