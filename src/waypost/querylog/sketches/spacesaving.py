"""The most frequent keys of a stream in a fixed number of slots.

Space-saving (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in data streams, 2005).
With N the sum of all weights, for every key that has a slot:

    least = count - error <= true count <= count,   error <= N / capacity

and every key whose true count exceeds N / capacity has a slot. Up to `capacity` distinct keys everything is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

V = TypeVar("V")
_FEW: Final = 16  # buckets among which the smallest is looked for, rather than counting up to it


class Slot(Generic[V]):
    """A key's count, by how much it may be too high, and what the caller keeps about it since it has the slot."""

    __slots__ = ("count", "error", "key", "value")

    def __init__(self, key: str, count: int, error: int, value: V) -> None:
        self.key = key
        self.count = count
        self.error = error
        self.value = value

    @property
    def least(self) -> int:
        """What the true count is at least: hits since the key has its slot."""
        return self.count - self.error


class SpaceSaving(Generic[V]):
    """Counts keys; `make(key)` is the value of a new slot."""

    __slots__ = ("_buckets", "_capacity", "_make", "_slots", "_smallest")

    def __init__(self, capacity: int, make: Callable[[str], V]) -> None:
        self._capacity = capacity
        self._make = make
        self._slots: dict[str, Slot[V]] = {}
        # Keys by the count they had when they were put here, which may have grown since. Empty until a slot is needed.
        self._buckets: dict[int, list[str]] = {}
        self._smallest = 0

    def __len__(self) -> int:
        return len(self._slots)

    def hit(self, key: str, weight: int = 1) -> Slot[V]:
        """Count a key; gives its slot, a new one if it had none."""
        slot = self._slots.get(key)
        if slot is None:
            return self._enter(key, weight)
        slot.count += weight
        return slot

    def get(self, key: str) -> Slot[V] | None:
        """The slot of a key, if it has one."""
        return self._slots.get(key)

    def top(self, limit: int | None = None) -> list[Slot[V]]:
        """Slots by what their count is at least, the largest first; equal ones by key."""
        ordered = sorted(self._slots.values(), key=lambda slot: (slot.error - slot.count, slot.key))
        return ordered if limit is None else ordered[:limit]

    def _enter(self, key: str, weight: int) -> Slot[V]:
        error = 0
        if len(self._slots) >= self._capacity:
            error = self._free_smallest()
            self._buckets.setdefault(error + weight, []).append(key)
        slot = self._slots[key] = Slot(key, error + weight, error, self._make(key))
        return slot

    def _free_smallest(self) -> int:
        """Free a slot with the smallest count; gives that count.

        A key whose count has grown is put where it belongs only when it is met here, so that a hit stays cheap.
        """
        slots, buckets = self._slots, self._buckets
        if not buckets:
            for slot in slots.values():
                buckets.setdefault(slot.count, []).append(slot.key)
        while True:
            bucket = buckets.get(self._smallest)
            if not bucket:
                buckets.pop(self._smallest, None)
                self._smallest = min(buckets) if len(buckets) < _FEW else self._smallest + 1
                continue
            key = bucket.pop()
            count = slots[key].count
            if count == self._smallest:
                del slots[key]
                return count
            buckets.setdefault(count, []).append(key)
