"""The entries of one cache: positive and negative ones, found by key, and by what they depend on when that changed.

Its content outlives a reload that leaves the cache's settings alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

from waypost.plugins.cache.config import Config
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.key import Key, name_of
from waypost.plugins.cache.shelf import Shelf
from waypost.toolkit.zonelist import ZoneList

_MAX_REMEMBERED = 4096


class Store:
    """Two shelves of items. A key is in both only if `prefer_positive` keeps a positive answer beside a denial."""

    __slots__ = ("_dependents", "_prefer_positive", "changes", "denial", "success")

    def __init__(self, config: Config, rng: random.Random) -> None:
        history = config.prefetch is not None or config.stale is not None
        self.success = Shelf(config.success.capacity, rng, history=history)
        self.denial = Shelf(config.denial.capacity, rng, history=history)
        self._prefer_positive = config.prefer_positive
        self._dependents: dict[bytes, set[Key]] = {}
        self.changes = ChangeLog()

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
            for dependency in item.depends:
                self._dependents.setdefault(dependency, set()).add(key)
        return len(evicted)

    def invalidate(self, changed: Iterable[bytes]) -> None:
        """Drop the entries that depend on any of these keys."""
        for dependency in changed:
            self.changes.add(dependency)
            for key in tuple(self._dependents.get(dependency, ())):
                self._remove(self.success, key)
                self._remove(self.denial, key)

    def invalidate_below(self, zones: ZoneList) -> None:
        """Drop the entries that depend on anything, or are for a name within these zones."""
        self.changes.add_all()
        for items in (self.success, self.denial):
            for key in list(items):
                item = items.peek(key)
                if item is not None and (item.depends or zones.covers(name_of(key))):
                    self._remove(items, key)

    def entries(self, chosen: Callable[[bytes], bool]) -> Iterator[tuple[Key, Item, bool]]:
        """Entries whose name is chosen, and whether each is a denial. The store may change meanwhile."""
        for items, denial in ((self.success, False), (self.denial, True)):
            for key in list(items):
                item = items.peek(key) if chosen(name_of(key)) else None
                if item is not None:
                    yield key, item, denial

    def flush(self, chosen: Callable[[bytes], bool], now: float) -> int:
        """Drop the entries whose name is chosen, and keep no answer that is on its way; counts what was servable."""
        self.changes.add_all()
        servable = 0
        for key, item, denial in self.entries(chosen):
            self._remove(self.denial if denial else self.success, key)
            servable += now < item.until
        return servable

    def postpone(self, key: Key, item: Item, until: float) -> None:
        """Do not refresh an item before this time."""
        item.retry_at = until
        self.success.changed(key, item)
        self.denial.changed(key, item)

    async def close(self) -> None:
        """Forget everything."""
        self.success.clear()
        self.denial.clear()
        self._dependents.clear()

    def _remove(self, items: Shelf, key: Key) -> None:
        item = items.pop(key)
        if item is not None:
            self._unlist(key, item)

    def _unlist(self, key: Key, item: Item) -> None:
        """Take a removed item out of the index, but for what the key's entry on the other shelf depends on too."""
        if not item.depends:
            return
        other = self.success.peek(key) or self.denial.peek(key)
        for dependency in item.depends:
            if other is not None and dependency in other.depends:
                continue
            keys = self._dependents.get(dependency)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._dependents[dependency]


class ChangeLog:
    """Which keys of live data changed lately, so that an answer on its way meanwhile is recognized as old.

    `generation` is a number to be handed to `unchanged`, taken before the question is passed on.
    """

    __slots__ = ("_floor", "_generations", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self._generations: dict[bytes, int] = {}
        self._floor = 0

    def add(self, dependency: bytes) -> None:
        """One changed."""
        if len(self._generations) >= _MAX_REMEMBERED:
            self.add_all()
        self.generation += 1
        self._generations[dependency] = self.generation

    def add_all(self) -> None:
        """Any may have changed."""
        self.generation += 1
        self._floor = self.generation
        self._generations.clear()

    def unchanged(self, depends: Iterable[bytes], since: int) -> bool:
        """True if none of the keys changed after that generation."""
        if since == self.generation:
            return True
        return since >= self._floor and all(self._generations.get(key, 0) <= since for key in depends)
