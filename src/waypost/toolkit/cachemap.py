"""A bounded map for caches: a hit costs one dict look-up, and when it is full a random entry makes room.

Beside its key and value an entry takes about 90 bytes.

Random eviction needs no bookkeeping on hits, and nobody can aim it: asking for many new names wears every entry alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class CacheMap(Generic[K, V]):
    """At most `capacity` entries and, with `weigh`, at most `max_weight` of summed weight (bytes, for instance).

    `get(key)` gives the value or None, so no value may be None. What `weigh` says of a value must not change.
    """

    __slots__ = ("_capacity", "_keys", "_max_weight", "_places", "_random", "_values", "_weigh", "weight")

    def __init__(
        self,
        capacity: int,
        rng: random.Random,
        *,
        max_weight: int = 0,
        weigh: Callable[[V], int] | None = None,
    ) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self._capacity = capacity
        self._max_weight = max_weight
        self._weigh = weigh
        self._random = rng.random
        # A victim is picked by number: each key knows its place in the two lists.
        self._places: dict[K, int] = {}
        self._keys: list[K] = []
        self._values: list[V] = []
        self.weight = 0

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: K) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[K]:
        """Every key, in no order; the map must not change meanwhile."""
        return iter(self._keys)

    def get(self, key: K) -> V | None:
        """The value of a key, None if there is none."""
        place = self._places.get(key)
        return None if place is None else self._values[place]

    def put(self, key: K, value: V) -> list[tuple[K, V]]:
        """Set the value of a key; gives the entries evicted for it.

        A value that weighs more than the whole map may is not kept; what the key had before is gone either way.
        """
        self.pop(key)
        weight = self._weigh(value) if self._weigh is not None else 0
        if weight > self._max_weight and self._weigh is not None:
            return []
        evicted = []
        while self._keys and (
            len(self._keys) >= self._capacity or (self._weigh is not None and self.weight + weight > self._max_weight)
        ):
            victim = self._keys[int(self._random() * len(self._keys))]
            lost = self.pop(victim)
            assert lost is not None
            evicted.append((victim, lost))
        self._places[key] = len(self._keys)
        self._keys.append(key)
        self._values.append(value)
        self.weight += weight
        return evicted

    def renew(self, key: K, value: V) -> None:
        """Give a known key a value that takes the place of another form of it: nothing is evicted for that."""
        place = self._places[key]
        if self._weigh is not None:
            self.weight += self._weigh(value) - self._weigh(self._values[place])
        self._values[place] = value

    def pop(self, key: K) -> V | None:
        """Take out a key and give its value, None if there is none."""
        place = self._places.pop(key, None)
        if place is None:
            return None
        value = self._values[place]
        last_key, last_value = self._keys.pop(), self._values.pop()
        if place < len(self._keys):
            self._keys[place], self._values[place] = last_key, last_value
            self._places[last_key] = place
        if self._weigh is not None:
            self.weight -= self._weigh(value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
        self._keys.clear()
        self._places.clear()
        self.weight = 0
