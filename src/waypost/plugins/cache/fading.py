"""Kept answers that are given again without asking the cache: their TTL by then, and until when they are right."""

from __future__ import annotations

from collections.abc import Callable

from waypost.plugins.cache.item import Item
from waypost.plugins.cache.key import Key
from waypost.plugins.cache.shelf import Shelf
from waypost.wire.reply import Reply


class Fading:
    """A countdown: the TTL in seconds that an entry shows by now; -1 if it has expired or is none any more."""

    __slots__ = ("_expires", "_item", "_keep_ttl", "_key", "_now", "_shelf")

    def __init__(self, item: Item, key: Key, shelf: Shelf, now: Callable[[], float], keep_ttl: bool) -> None:
        self._item = item
        self._key = key
        self._shelf = shelf
        self._now = now
        self._keep_ttl = keep_ttl
        self._expires = item.expires

    def __call__(self) -> int:
        now = self._now()
        item = self._item
        # Asking for it also keeps it among those that are asked for.
        if now >= self._expires or self._shelf.get(self._key) is not item:
            return -1
        return item.ttl if self._keep_ttl else item.ttl - int(now - item.stored)


def counting_down(reply: Reply, cache: object, countdown: Callable[[], int]) -> Reply:
    """The same reply, with the cache vouching for it."""
    return Reply(
        reply.rcode,
        reply.flags,
        reply.answer,
        reply.authority,
        reply.additional,
        depends=reply.depends,
        steady=cache,
        countdown=countdown,
    )
