"""The cache in the chain. What is behind it is called "the source" here, whether forward or a plugin with own data.

A hit is answered from the item that `Store` finds under the key: name, type, class, DO and CD. Whatever else depends on
the client (RD, AD, the question's case, EDNS) is not kept. A miss asks the source with AD set, so that one entry serves
clients that want to know about validation and those that do not (RFC 6840 section 5.7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from waypost.dispatch.handler import Handler, Outcome, settled, then
from waypost.dispatch.request import Request
from waypost.log import Log
from waypost.plugins.cache.config import Config
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.keep import WILDCARD, Asking, Keeper, within
from waypost.plugins.cache.metrics import Cells
from waypost.plugins.cache.refresh import Refresh, Refreshes
from waypost.plugins.cache.store import Store
from waypost.wire import consts, names
from waypost.wire.edns import DO
from waypost.wire.query import Query
from waypost.wire.reply import Reply

# A refresh that nobody waits for ends after this many seconds, whatever the source does.
_REFRESH_SECONDS = 10.0
_CLIENTS_BITS = consts.COPIED | consts.AD


class Cache:
    """`zones` are in wire form and lower case; `cells` gives the metrics for a server's label."""

    name = "cache"
    next: Handler

    def __init__(
        self, config: Config, zones: Sequence[bytes], keeper: Keeper, cells: Callable[[str], Cells], log: Log
    ) -> None:
        self.zones = tuple(zones)
        self._everywhere = names.ROOT in self.zones
        self._config = config
        self._keeper = keeper
        self._now = keeper.now
        self._cells: dict[str, Cells] = {}
        self._make_cells = cells
        self._log = log
        self._refreshes = Refreshes()
        self.use(keeper.store)

    def use(self, store: Store) -> None:
        """Keep entries there from now on."""
        self._store = self._keeper.store = store
        self._success = store.success.get
        self._denial = store.denial.get

    def serve(self, request: Request) -> Outcome:
        """From the cache, or else from the source."""
        query = request.query
        flags = query.flags
        if not (self._everywhere or within(query.name, self.zones)) or flags & consts.OPCODE_MASK:
            return self.next.serve(request)
        do = query.opt.flags & DO if query.opt is not None else 0
        key = (query.name, query.qtype, query.qclass, do, flags & consts.CD)
        cells = self._cells.get(request.server.label) or self._cells_of(request.server.label)
        cells.requests.value += 1
        now = self._now()
        item, half = self._success(key), 0
        if item is None or now >= item.until:
            item, half = self._denial(key), 1
            if item is None or now >= item.until:
                cells.misses.value += 1
                request.note("cache: nothing kept, asking on")
                return self._ask(Asking(request, key, cells, None, self._store.generation))
        cells.hits[half].value += 1
        if item.wildcard and request.metadata is not None:
            request.metadata[WILDCARD] = item.wildcard.__str__
        bits = flags & _CLIENTS_BITS | (consts.AD if do else 0)
        if now >= item.expires:
            return self._serve_stale(Asking(request, key, cells, item, self._store.generation), item, bits, now)
        ttl = item.ttl - int(now - item.stored)
        if self._config.prefetch is not None:
            self._count_hit(Asking(request, key, cells, item, self._store.generation), item, now, ttl)
        if request.trace is not None:
            request.note("cache: kept answer")
        return item.reply(item.ttl if self._config.keep_ttl else ttl, bits)

    def invalidate(self, changed: Sequence[bytes]) -> None:
        """Drop the entries for these names (wire form, lower case), whatever their type."""
        self._store.invalidate(changed)
        for cells in self._cells.values():
            cells.count(self._store)

    def invalidate_below(self, zones: Sequence[bytes]) -> None:
        """Drop the entries for every name within these zones."""
        self._store.invalidate_below(zones)
        for cells in self._cells.values():
            cells.count(self._store)

    async def close(self) -> None:
        """End the refreshes under way."""
        await self._refreshes.stop()

    def _ask(self, asking: Asking) -> Outcome:
        query = asking.request.query
        return then(
            self.next.serve(_with_ad(asking.request)),
            lambda reply: _for_client(self._keeper.settle(asking, reply)[0], query),
        )

    # Prefetching and serving stale.

    def _count_hit(self, asking: Asking, item: Item, now: float, ttl: int) -> None:
        """A popular entry near its end is refreshed."""
        prefetch = self._config.prefetch
        assert prefetch is not None
        item.hits = item.hits + 1 if now - item.last_hit <= prefetch.pause else 1
        item.last_hit = now
        if item.hits >= prefetch.amount and ttl <= -(-item.ttl * prefetch.percentage // 100):
            self._refresh_in_background(asking, item, now)

    def _serve_stale(self, asking: Asking, item: Item, bits: int, now: float) -> Outcome:
        assert self._config.stale is not None
        if now < item.retry_at:
            return self._stale_reply(asking, item, bits)
        if not self._config.stale.verify:
            self._refresh_in_background(asking, item, now)
            return self._stale_reply(asking, item, bits)
        running = self._refreshes.get(asking.key)
        if running is not None:
            return self._wait(asking, item, bits, running, mine=False)
        outcome = self._refresh(asking, item, _with_ad(asking.request))
        if isinstance(outcome, asyncio.Task):
            return self._wait(asking, item, bits, outcome, mine=True)
        return self._verified(asking, item, bits, outcome)

    async def _wait(self, asking: Asking, item: Item, bits: int, running: Refresh, *, mine: bool) -> Reply:
        """Wait for a refresh; it goes on if that takes too long."""
        assert self._config.stale is not None
        await asyncio.wait((running,), timeout=self._config.stale.timeout or None)
        reply = running.result() if running.done() and not running.cancelled() else None
        if reply is not None and not mine:
            if reply.flags & consts.TC and not asking.request.datagram:  # it was cut for a client that uses UDP
                return await settled(self._ask(asking))
            reply = reply.replace(question=b"")
        return self._verified(asking, item, bits, reply)

    def _verified(self, asking: Asking, item: Item, bits: int, reply: Reply | None) -> Reply:
        if reply is None:
            return self._stale_reply(asking, item, bits)
        if self._config.prefer_positive and not reply.flags & consts.TC and self._success(asking.key) is item:
            return self._stale_reply(asking, item, bits)
        return _for_client(reply, asking.request.query)

    def _stale_reply(self, asking: Asking, item: Item, bits: int) -> Reply:
        assert self._config.stale is not None
        asking.cells.stale.inc()
        asking.request.note("cache: expired answer")
        return item.reply(self._config.stale.ttl, bits)

    def _refresh_in_background(self, asking: Asking, item: Item, now: float) -> None:
        if now < item.retry_at or self._refreshes.full or self._refreshes.get(asking.key) is not None:
            return
        asking.cells.prefetches.inc()
        request = asking.request
        child = _with_ad(request)
        child.datagram = False  # no client whose buffer could be too small
        child.trace = None
        if request.metadata is not None:
            child.metadata = {label: value for label, value in request.metadata.items() if label != _WILDCARD}
        self._refresh(asking._replace(request=child), item, child)

    def _refresh(self, asking: Asking, item: Item, child: Request) -> Refresh | Reply | None:
        """Ask the source again: the reply, None if it had none worth having, or a task that gives either."""
        try:
            outcome = self.next.serve(child)
        except Exception as exc:
            return self._failed(item, exc)
        if isinstance(outcome, Reply):
            return self._refreshed(asking, item, outcome)
        return self._refreshes.start(asking.key, self._refresh_later(asking, item, outcome))

    async def _refresh_later(self, asking: Asking, item: Item, waiting: Awaitable[Reply]) -> Reply | None:
        try:
            async with asyncio.timeout(_REFRESH_SECONDS):
                reply = await waiting
            return self._refreshed(asking, item, reply)
        except Exception as exc:
            return self._failed(item, exc)

    def _refreshed(self, asking: Asking, item: Item, reply: Reply) -> Reply | None:
        reply, good = self._keeper.settle(asking, reply)
        if good:
            return reply
        return self._failed(item, None)

    def _failed(self, item: Item, exc: Exception | None) -> None:
        if exc is not None:
            self._log.once_a_burst(self._log.error, f"refresh failed: {type(exc).__name__}: {exc}")
        if self._config.stale is not None:
            item.retry_at = self._now() + self._config.stale.recheck

    def _cells_of(self, label: str) -> Cells:
        cells = self._cells[label] = self._make_cells(label)
        return cells


def _with_ad(request: Request) -> Request:
    """A child that asks the same with AD set."""
    query = request.query
    child = request.asking(query.qname, query.qtype, query.qclass)
    flags = query.flags | consts.AD
    wire = query.wire[:2] + flags.to_bytes(2, "big") + query.wire[4:]
    child.query = Query(wire, query.id, flags, query.qname, query.qtype, query.qclass, query.opt)
    return child


def _for_client(reply: Reply, query: Query) -> Reply:
    """The reply with the header bits of this client: RD and CD as asked, AD only if it wants to know."""
    if not reply.written:
        return reply
    flags = reply.flags & ~_CLIENTS_BITS | query.flags & consts.COPIED
    if reply.flags & consts.AD and (query.do or query.flags & consts.AD):
        flags |= consts.AD
    return reply if flags == reply.flags else reply.replace(flags=flags)
