"""The keys with the largest values of a stream. Exact: a key pushed out comes back with its next larger value."""

from __future__ import annotations


class Largest:
    """The `limit` keys whose largest value is largest, with that value. What is at most `floor` changes nothing."""

    __slots__ = ("_limit", "_values", "floor")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: dict[str, float] = {}
        self.floor = float("-inf")  # the smallest value kept, once there is no free place

    def add(self, key: str, value: float) -> None:
        """Take note of a value of a key."""
        if value <= self.floor:
            return
        known = self._values.get(key)
        if known is not None and known >= value:
            return
        self._values[key] = value
        if len(self._values) > self._limit:
            del self._values[min(self._values, key=lambda each: (self._values[each], each))]
        if len(self._values) == self._limit:
            self.floor = min(self._values.values())

    def top(self) -> list[tuple[str, float]]:
        """Keys and values from the largest on; equal ones by key."""
        return sorted(self._values.items(), key=lambda item: (-item[1], item[0]))
