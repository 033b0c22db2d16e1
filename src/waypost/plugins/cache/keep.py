"""What happens to a reply that comes back from the source: it gets its TTL, and a place in the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from waypost.dispatch.request import Request
from waypost.plugins.cache.config import Config
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.key import Key, name_of
from waypost.plugins.cache.metrics import Cells
from waypost.plugins.cache.store import Store
from waypost.plugins.cache.verdict import Kind, Verdict, judge, told, with_ttl
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.reply import Reply

WILDCARD = "zone/wildcard"
"""Metadata that `file` sets while it answers; kept with the entry."""


class Asking(NamedTuple):
    """A look-up on its way: for whom, under which key, the store's generation then, the entry to be refreshed."""

    request: Request
    key: Key
    cells: Cells
    generation: int
    item: Item | None


class Keeper:
    """`now` is a monotonic clock, `wall` the time of day; both in seconds."""

    __slots__ = ("_config", "_wall", "now", "store")

    def __init__(
        self,
        config: Config,
        store: Store,
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.now = now
        self._config = config
        self._wall = wall

    def settle(self, asking: Asking, reply: Reply) -> tuple[Reply, bool]:
        """Give a reply its TTL and keep it if it may be kept.

        Gives the reply for the client, its own OPT taken out, and whether it is worth more than a stale one.
        """
        if not reply.written:
            return reply, False
        query = asking.request.query
        verdict = judge(query, reply, self._config, self._wall())
        reply = _shaped(reply, verdict.ttl)
        if reply.question and not _same_question(reply.question, query):
            asking.cells.drops.inc()
            asking.request.note("cache", "not kept: the reply is to another question")
            return reply, False
        self._keep(asking, verdict, reply)
        if asking.request.trace is not None:
            kept = self.store.find(asking.key, self.now()) is not None
            asking.request.note("cache", told(verdict, reply, kept=kept))
        return reply, reply.rcode in (consts.NOERROR, consts.NXDOMAIN)

    def shape(self, query: Query, reply: Reply) -> Reply:
        """A reply that is not to be kept, with the TTL it would have been kept with and without its own OPT."""
        return _shaped(reply, judge(query, reply, self._config, self._wall()).ttl) if reply.written else reply

    def _keep(self, asking: Asking, verdict: Verdict, reply: Reply) -> None:
        """Let a reply replace what was known, and store it, as its verdict says."""
        key, store, now = asking.key, self.store, self.now()
        error = verdict.kind is Kind.ERROR
        if not verdict.usable and not (error and verdict.lifetime > 0 and store.find(key, now) is None):
            return
        item = self._item(asking, verdict, reply, now)
        if not store.changes.unchanged(item.depends, asking.generation):
            return
        survivor = None if error else store.supersede(key, now, positive=item.positive)
        if survivor is not None:  # not asked about again before the denial ends
            store.postpone(key, survivor, max(survivor.retry_at, item.expires))
        wanted = verdict.lifetime > 0 and (verdict.denial or survivor is None)
        if wanted and not (self._config.no_denial if verdict.denial else self._config.no_success).covers(name_of(key)):
            evicted = store.put(key, item, denial=verdict.denial)
            asking.cells.evictions[verdict.denial].inc(evicted)
        asking.cells.show_entries(store)

    def _item(self, asking: Asking, verdict: Verdict, reply: Reply, now: float) -> Item:
        item = Item(reply, now, verdict.ttl, verdict.lifetime)
        item.positive = verdict.kind is Kind.ANSWER
        if self._config.stale is not None and verdict.kind is not Kind.ERROR:  # errors are never served stale
            item.until += self._config.stale.window
        if asking.item is not None:
            item.hits, item.last_hit = asking.item.hits, asking.item.last_hit
        metadata = asking.request.metadata
        if metadata is not None and WILDCARD in metadata:
            item.wildcard = metadata[WILDCARD]()
        return item


def _shaped(reply: Reply, ttl: int) -> Reply:
    return Reply(
        reply.rcode,
        reply.flags,
        with_ttl(reply.answer, ttl),
        with_ttl(reply.authority, ttl),
        with_ttl(reply.additional, ttl),
        None,
        reply.question,
        reply.error,
        depends=reply.depends,
    )


def _same_question(question: bytes, query: Query) -> bool:
    asked = query.question
    return question[-4:] == asked[-4:] and question[:-4].lower() == query.name
