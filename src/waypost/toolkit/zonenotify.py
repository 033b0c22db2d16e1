"""Telling the secondaries of a zone that it has changed (RFC 1996), through the block's `transfer`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from waypost.dispatch.site import Site


@runtime_checkable
class Notifier(Protocol):
    """A handler that can send NOTIFY."""

    def notify(self, zone: bytes) -> None:
        """Tell, in the background, those who may transfer exactly this zone (wire form, lower case)."""
        ...


def notify_secondaries(site: Site, zone: bytes) -> None:
    """Ask every `transfer` of the block to send NOTIFY for a zone."""
    for handler in site.handlers.get("transfer", ()):
        if isinstance(handler, Notifier):
            handler.notify(zone)
