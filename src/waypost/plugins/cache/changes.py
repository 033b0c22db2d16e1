"""How handlers of the same block tell the cache that their own data changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

Changed = Callable[[Sequence[bytes] | None], None]
"""Takes the keys that changed, as they stand in `Reply.depends`; None: any answer of the handler may have changed."""


@runtime_checkable
class ChangeFeed(Protocol):
    """A handler with data that changes by events, such as `kubernetes`."""

    def subscribe(self, callback: Changed) -> Callable[[], None]:
        """Call `callback` after each change, on the event loop's thread; gives the function that ends it."""
        ...


@runtime_checkable
class Zoned(Protocol):
    """A handler that answers for these zones only: wire form, lower case."""

    @property
    def zones(self) -> Sequence[bytes]:
        """The zones."""
        ...
