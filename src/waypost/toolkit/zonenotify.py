"""Telling the secondaries of a zone that it has changed (RFC 1996), through the block's `transfer`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from waypost.dispatch.site import Site


@runtime_checkable
class Notifier(Protocol):
    """A handler that can send NOTIFY."""

    def notify(self, zone: bytes) -> Awaitable[None] | None:
        """Tell those who may transfer exactly this zone (wire form, lower case); it does not raise."""
        ...


async def notify_secondaries(site: Site, zone: bytes) -> None:
    """Ask every `transfer` of the block to send NOTIFY for a zone."""
    for handler in site.handlers.get("transfer", ()):
        if isinstance(handler, Notifier):
            waiting = handler.notify(zone)
            if waiting is not None:
                await waiting
