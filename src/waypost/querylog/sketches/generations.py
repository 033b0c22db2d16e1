"""A map that forgets what was put into it long ago, without a clock and without bookkeeping for each entry.

Two generations: when the young one is full it becomes the old one, and what was in the old one is forgotten. So the
last capacity / 2 keys put are always there, and never more than `capacity`.
"""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Generations(Generic[K, V]):
    """Key -> value of what was put of late."""

    __slots__ = ("_half", "_old", "_young")

    def __init__(self, capacity: int) -> None:
        self._half = capacity // 2
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    @property
    def full(self) -> bool:
        """Whether the next new key needs a turn first."""
        return len(self._young) >= self._half

    def get(self, key: K) -> V | None:
        """The value of a key that is not forgotten."""
        value = self._young.get(key)
        return self._old.get(key) if value is None else value

    def put(self, key: K, value: V) -> None:
        """Remember a value. Turns if there is no room."""
        if len(self._young) >= self._half and key not in self._young:
            self.turn()
        self._old.pop(key, None)
        self._young[key] = value

    def turn(self) -> dict[K, V]:
        """Start a new generation; gives what is forgotten."""
        forgotten, self._old, self._young = self._old, self._young, {}
        return forgotten
