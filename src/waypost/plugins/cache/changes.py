"""How handlers of the same block tell the cache that their own answers changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

Changed = Callable[[Sequence[bytes] | None], None]
"""Takes the names whose answers changed, in wire form and lower case; None: any name in the handler's zones."""


@runtime_checkable
class ChangeFeed(Protocol):
    """A handler whose answers change by events that it hears of, such as `kubernetes`."""

    def subscribe(self, callback: Changed) -> None:
        """Call `callback` after each change, on the event loop's thread, once the new answers are given."""
        ...


@runtime_checkable
class Zoned(Protocol):
    """A handler that answers for these zones only: wire form, lower case."""

    zones: Sequence[bytes]
