"""What outlives a reload: objects lent to configurations under a key, counted, closed when the last holder lets go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Protocol, TypeVar, cast, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Closable(Protocol):
    """A lent object that holds something."""

    def close(self) -> Awaitable[None]:
        """Let go of it."""
        ...


@runtime_checkable
class Replicated(Protocol):
    """A lent object whose content one process brings in, and workers have copies of."""

    def lead(self, tell: Callable[[bytes], None]) -> None:
        """In the process that brings it: tell every change from now on."""
        ...

    def whole(self) -> Iterable[bytes]:
        """Everything so far, as changes for an empty copy."""
        ...

    def follow(self) -> None:
        """In a worker: from now on this is a copy. It may have been forked with content."""
        ...

    def take(self, data: bytes) -> None:
        """A change came."""
        ...


class Pool:
    """Every lent object of the process with the leases that hold it."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[Hashable, tuple[object, set[Lease]]] = {}

    def replicated(self) -> dict[str, Replicated]:
        """What has copies in workers, by a name that is the same in all of them."""
        found = ((key, item) for key, (item, _) in self.entries.items() if isinstance(item, Replicated))
        return {repr(key): item for key, item in found}


class Lease:
    """One configuration's share of the pool; implements `dispatch.site.Lender`."""

    __slots__ = ("_pool",)

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def lend(self, key: Hashable, make: Callable[[], T]) -> T:
        """The object under this key, made if nobody holds one."""
        entry = self._pool.entries.get(key)
        if entry is None:
            entry = self._pool.entries[key] = (make(), set())
        entry[1].add(self)
        return cast(T, entry[0])

    def forget(self) -> None:
        """Give back what was never started, without closing: for a configuration that failed while it was set up."""
        for key, (_, holders) in list(self._pool.entries.items()):
            holders.discard(self)
            if not holders:
                del self._pool.entries[key]

    async def release(self) -> None:
        """Give everything back; what nobody else holds is closed."""
        orphans = []
        for key, (item, holders) in list(self._pool.entries.items()):
            holders.discard(self)
            if not holders:
                del self._pool.entries[key]
                orphans.append(item)
        closing = [item.close() for item in orphans if isinstance(item, Closable)]
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
