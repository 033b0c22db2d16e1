"""Whose changes the cache hears of, beside `dispatch.handler.ChangeFeed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Zoned(Protocol):
    """A handler that answers for these zones only: wire form, lower case."""

    @property
    def zones(self) -> Sequence[bytes]:
        """The zones."""
        ...
