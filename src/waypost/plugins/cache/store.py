"""The entries of one cache: positive and negative ones, found by key, and by name when a name's answers changed.

Its content outlives a reload that leaves the cache's settings alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from waypost.plugins.cache.config import Config
from waypost.plugins.cache.item import Item, Key
from waypost.toolkit.cachemap import CacheMap
from waypost.wire.names import is_within

# Memory is bounded too: as much as if every entry were this large. An ordinary one takes a quarter of it.
_BYTES_PER_ENTRY = 4096
_MAX_REMEMBERED = 4096


class Store:
    """Two bounded maps of items. A key is in both only if `prefer_positive` keeps a positive answer beside a denial."""

    __slots__ = ("_changes", "_keys_of", "_prefer_positive", "denial", "success")

    def __init__(self, config: Config, rng: random.Random) -> None:
        self.success = _map(config.success.capacity, rng)
        self.denial = _map(config.denial.capacity, rng)
        self._prefer_positive = config.prefer_positive
        self._keys_of: dict[bytes, set[Key]] = {}
        self._changes = ChangeLog()

    def find(self, key: Key, now: float) -> Item | None:
        """The entry that may be served now: of two the positive one."""
        item = self.success.get(key)
        if item is not None and now < item.until:
            return item
        item = self.denial.get(key)
        return item if item is not None and now < item.until else None

    def supersede(self, key: Key, now: float, *, positive: bool = False) -> Item | None:
        """Forget what is known under a key, for a newer reply says otherwise.

        With `prefer_positive` a positive answer survives a reply that is not `positive`; it is then returned.
        """
        kept = self.success.get(key)
        if kept is None or positive or not (self._prefer_positive and kept.positive and now < kept.until):
            kept = None
            self._remove(self.success, key)
        self._remove(self.denial, key)
        return kept

    def put(self, key: Key, item: Item, *, denial: bool) -> int:
        """Keep an entry; gives how many others were evicted for it."""
        items = self.denial if denial else self.success
        self._remove(items, key)
        evicted = items.put(key, item)
        for other_key, other in evicted:
            self._unlist(other_key, other)
        if key in items:
            for name in item.names:
                self._keys_of.setdefault(name, set()).add(key)
        return len(evicted)

    @property
    def generation(self) -> int:
        """A number to be handed to `is_current`, taken before the question is passed on."""
        return self._changes.generation

    def is_current(self, item: Item, generation: int) -> bool:
        """True unless a name of the item was invalidated since."""
        return self._changes.unchanged(item.names, generation)

    def invalidate(self, names: Iterable[bytes]) -> None:
        """Drop the entries for these names (wire form, lower case), of every type, and those with a CNAME to them."""
        for name in names:
            self._changes.add(name)
            for key in tuple(self._keys_of.get(name, ())):
                self._remove(self.success, key)
                self._remove(self.denial, key)

    def invalidate_below(self, zones: Sequence[bytes]) -> None:
        """Drop the entries for every name within these zones."""
        self._changes.add_all()
        self.invalidate([name for name in self._keys_of if any(is_within(name, zone) for zone in zones)])

    async def close(self) -> None:
        """Forget everything."""
        self.success.clear()
        self.denial.clear()
        self._keys_of.clear()

    def _remove(self, items: CacheMap[Key, Item], key: Key) -> None:
        item = items.pop(key)
        if item is not None:
            self._unlist(key, item)

    def _unlist(self, key: Key, item: Item) -> None:
        """Take a removed item out of the index, but for names that the key's entry in the other map has too."""
        other = self.success.get(key) or self.denial.get(key)
        for name in item.names:
            if other is not None and name in other.names:
                continue
            keys = self._keys_of.get(name)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._keys_of[name]


class ChangeLog:
    """Which names changed lately, so that an answer on its way meanwhile is recognized as old."""

    __slots__ = ("_floor", "_generations", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self._generations: dict[bytes, int] = {}
        self._floor = 0

    def add(self, name: bytes) -> None:
        """A name changed."""
        if len(self._generations) >= _MAX_REMEMBERED:
            self.add_all()
        self.generation += 1
        self._generations[name] = self.generation

    def add_all(self) -> None:
        """Any name may have changed."""
        self.generation += 1
        self._floor = self.generation
        self._generations.clear()

    def unchanged(self, names: Iterable[bytes], since: int) -> bool:
        """True if none of the names changed after that generation."""
        if since == self.generation:
            return True
        return since >= self._floor and all(self._generations.get(name, 0) <= since for name in names)


def _map(capacity: int, rng: random.Random) -> CacheMap[Key, Item]:
    return CacheMap(capacity, rng, max_weight=capacity * _BYTES_PER_ENTRY, weigh=lambda item: item.weight)
