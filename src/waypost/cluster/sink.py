"""How objects of one kind reach the index: single changes, and lists that replace everything without a gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Tee(Generic[T]):
    """Hands the objects of one kind to two sinks."""

    __slots__ = ("_one", "_other")

    def __init__(self, one: Sink[T], other: Sink[T]) -> None:
        self._one = one
        self._other = other

    def count(self) -> int:
        """How many objects of the kind are kept."""
        return self._one.count()

    def begin_list(self) -> None:
        """A list starts."""
        self._one.begin_list()
        self._other.begin_list()

    def listed(self, item: T) -> None:
        """One object of the running list."""
        self._one.listed(item)
        self._other.listed(item)

    def end_list(self) -> None:
        """The list is complete."""
        self._one.end_list()
        self._other.end_list()

    def abort_list(self) -> None:
        """The list broke off."""
        self._one.abort_list()
        self._other.abort_list()

    def changed(self, item: T) -> None:
        """An object was added or modified."""
        self._one.changed(item)
        self._other.changed(item)

    def removed(self, namespace: str, name: str) -> None:
        """An object was deleted."""
        self._one.removed(namespace, name)
        self._other.removed(namespace, name)


class Sink(Generic[T]):
    """Takes objects of one kind. Keys are the index's own; `put` gives the key of what it stored, `whole` is called
    when the first list was complete.

    A list is applied object by object over what is there, and what it did not name is dropped at its end: a reader
    never sees a half-empty cluster, and no second copy is held.
    """

    __slots__ = ("_drop", "_key", "_keys", "_put", "_seen", "_whole", "synced")

    def __init__(
        self,
        put: Callable[[T], bytes],
        drop: Callable[[bytes], None],
        key: Callable[[str, str], bytes],
        keys: Callable[[], Iterable[bytes]],
        whole: Callable[[], None] = lambda: None,
    ) -> None:
        self._put = put
        self._drop = drop
        self._key = key
        self._keys = keys
        self._whole = whole
        self._seen: set[bytes] | None = None
        self.synced = False

    def count(self) -> int:
        """How many objects of the kind are kept."""
        return sum(1 for _ in self._keys())

    def begin_list(self) -> None:
        """A list starts."""
        self._seen = set()

    def listed(self, item: T) -> None:
        """One object of the running list."""
        key = self._put(item)
        if self._seen is not None:
            self._seen.add(key)

    def end_list(self) -> None:
        """The list is complete: drop what it did not name."""
        seen, self._seen = self._seen, None
        if seen is not None:
            for key in [key for key in self._keys() if key not in seen]:
                self._drop(key)
        if not self.synced:
            self.synced = True
            self._whole()

    def abort_list(self) -> None:
        """The list broke off: keep what was there and what came."""
        self._seen = None

    def changed(self, item: T) -> None:
        """An object was added or modified."""
        self._put(item)

    def removed(self, namespace: str, name: str) -> None:
        """An object was deleted; an unknown one does no harm."""
        self._drop(self._key(namespace, name))
