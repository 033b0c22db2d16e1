"""The cache in the chain. What is behind it is called "the source" here, whether forward or a plugin with own data.

A hit is answered from the item that the store has under the key: name, type, class, DO and CD. Whatever else depends
on the client (RD, AD, the question's case, EDNS) is not kept. The source is asked with AD set, so that one entry serves
clients that want to know about validation and those that do not (RFC 6840 section 5.7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from waypost.dispatch.handler import CacheEntry, Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED
from waypost.log import Log
from waypost.plugins.cache.config import Config, Limits, Prefetch
from waypost.plugins.cache.fading import Fading, counting_down
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.keep import WILDCARD, Asking, Keeper
from waypost.plugins.cache.key import DO_SHIFT, Key, key_tail
from waypost.plugins.cache.metrics import Cells
from waypost.plugins.cache.refresh import Refresher, for_client, with_ad
from waypost.plugins.cache.store import Store
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.edns import DO
from waypost.wire.query import Query
from waypost.wire.reply import Reply

_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_PLAIN_RCODES = (consts.NOERROR, consts.NXDOMAIN)
_HEADER_SIZE = 12
_CLIENTS_BITS = consts.COPIED | consts.AD


class Cache:
    """The handler. `cells` gives the metrics for a server's label."""

    name = "cache"
    transparent = True
    vouches = True
    next: Handler

    def __init__(
        self, config: Config, zones: ZoneList, keeper: Keeper, cells: Callable[[str], Cells], log: Log
    ) -> None:
        self.zones = zones
        self._everywhere = names.ROOT in zones.zones
        self._never = _never_kept(config)
        self.cuts = zones.zones | self._never.zones
        self._limits = (config.success, config.denial)
        self._keep_ttl = config.keep_ttl
        self._prefetch = config.prefetch
        self._keeper = keeper
        self._now = keeper.now
        self._cells: dict[str, Cells] = {}
        self._make_cells = cells
        self._refresher = Refresher(config, keeper, log, serve=lambda request: self.next.serve(request), ask=self._ask)
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
        if not (self._everywhere or self.zones.holds(query)) or flags & consts.OPCODE_MASK:
            return self.next.serve(request)
        if query.qtype in _TRANSFERS:  # a zone must arrive as it is
            return self.next.serve(request)
        cells = self._cells.get(request.server.label) or self._cells_of(request.server.label)
        cells.requests.value += 1
        if self._never.holds(query):
            cells.misses.value += 1
            if request.trace is not None:
                request.note(self.name, "nothing is ever kept for names of this zone (disable)")
            if request.repeats is not None:
                request.repeats.append(cells.missed_again)
            outcome = self.next.serve(request)
            if type(outcome) is Reply:
                return self._not_kept(request, outcome)
            return then(outcome, lambda reply: self._not_kept(request, reply))
        do = query.opt.flags & DO if query.opt is not None else 0
        key = query.name + key_tail(query.qtype, query.qclass, do >> DO_SHIFT | flags & consts.CD)
        if request.given is not None:  # it was not here when it went to the source
            cells.misses.value += 1
            return self._ask(Asking(request, key, cells, self._store.changes.generation, None))
        now = self._now()
        item, half = self._success(key), 0
        if item is None or now >= item.until:
            item, half = self._denial(key), 1
            if item is None or now >= item.until:
                cells.misses.value += 1
                if request.trace is not None:
                    request.note(self.name, "miss: nothing is kept for this question")
                return self._ask(Asking(request, key, cells, self._store.changes.generation, None))
        cells.hits[half].value += 1
        if item.wildcard and request.metadata is not None:
            request.metadata[WILDCARD] = item.wildcard.__str__
        bits = flags & _CLIENTS_BITS | (consts.AD if do else 0)
        if now >= item.expires:
            asking = Asking(request, key, cells, self._store.changes.generation, item)
            return self._refresher.expired(asking, item, bits, now)
        ttl = item.ttl - int(now - item.stored)
        if self._prefetch is not None and _is_due(self._prefetch, item, now, ttl):
            self._refresher.in_background(Asking(request, key, cells, self._store.changes.generation, item), item, now)
        if request.trace is not None:
            text = f"hit: kept {int(now - item.stored)} s ago, {ttl} s left"
            request.note(self.name, text, ANSWERED, "denial" if half else "success")
        reply = item.reply(item.ttl if self._keep_ttl else ttl, bits)
        if request.repeats is None or self._prefetch is not None:
            return reply
        request.repeats.append(cells.denied_again if half else cells.hit_again)
        shelf = self._store.denial if half else self._store.success
        return counting_down(reply, self, Fading(item, key, shelf, self._now, self._keep_ttl))

    def gate(self, request: Request) -> Callable[[bytes], bool] | None:
        """Misses need not wait for the chain. What is there, fresh or stale, and what is never kept, must."""
        query = request.query
        covered = self._everywhere or self.zones.holds(query)
        if not covered or query.flags & consts.OPCODE_MASK or query.qtype in _TRANSFERS or self._never.holds(query):
            return None
        return Missing(self, query)

    def has(self, key: Key) -> bool:
        """True if there is an entry, fresh or stale."""
        return key in self._store.success or key in self._store.denial

    def invalidate(self, changed: Iterable[bytes]) -> None:
        """Drop the entries that depend on these keys of live data."""
        self._store.invalidate(changed)
        self._show_entries()

    def invalidate_below(self, zones: ZoneList) -> None:
        """Drop the entries that depend on live data at all, or are for a name within these zones."""
        self._store.invalidate_below(zones)
        self._show_entries()

    def cached(self, name: bytes, *, below: bool) -> Iterator[CacheEntry]:
        """The entries that may be served for a name, or with `below` in a zone."""
        now = self._now()
        for key, item, denial in self._store.entries(_chooser(name, below)):
            if now < item.until:
                yield item.entry(key, now, denial=denial)

    def flush(self, name: bytes, *, below: bool) -> int:
        """Drop them; gives how many."""
        dropped = self._store.flush(_chooser(name, below), self._now())
        self._show_entries()
        return dropped

    async def close(self) -> None:
        """End the refreshes under way."""
        await self._refresher.stop()

    def _ask(self, asking: Asking) -> Outcome:
        request = asking.request
        query = request.query
        child = with_ad(request)
        child.given, child.repeats = request.given, request.repeats
        outcome = self.next.serve(child)
        request.road = child.road
        return then(outcome, lambda reply: for_client(self._keeper.settle(asking, reply)[0], query))

    def _not_kept(self, request: Request, reply: Reply) -> Reply:
        """A reply for a name that is never kept: its records get one TTL all the same, which they mostly have."""
        query = request.query
        if not (reply.written and _has_plain_ttl(reply, self._limits)):
            reply = self._keeper.shape(query, reply)
        return reply if reply.flags & _CLIENTS_BITS == query.flags & consts.COPIED else for_client(reply, query)

    def _cells_of(self, label: str) -> Cells:
        cells = self._cells[label] = self._make_cells(label)
        return cells

    def _show_entries(self) -> None:
        for cells in self._cells.values():
            cells.show_entries(self._store)


class Missing:
    """Whether a cache has no entry for a packet of the family that a query is of."""

    __slots__ = ("_cache", "_end", "_tail")

    def __init__(self, cache: Cache, query: Query) -> None:
        do = query.opt.flags & DO if query.opt is not None else 0
        self._cache = cache
        self._end = _HEADER_SIZE + len(query.name)
        self._tail = key_tail(query.qtype, query.qclass, do >> DO_SHIFT | query.flags & consts.CD)

    def __call__(self, wire: bytes) -> bool:
        return not self._cache.has(wire[_HEADER_SIZE : self._end].lower() + self._tail)


def _chooser(name: bytes, below: bool) -> Callable[[bytes], bool]:
    return (lambda other: names.is_within(other, name)) if below else name.__eq__


def _never_kept(config: Config) -> ZoneList:
    """The zones for which neither half of the cache is used."""
    success, denial = config.no_success, config.no_denial
    zones = {zone for zone in success.zones if denial.covers(zone)}
    return ZoneList(frozenset(zones | {zone for zone in denial.zones if success.covers(zone)}))


def _has_plain_ttl(reply: Reply, limits: tuple[Limits, Limits]) -> bool:
    """True for an answer, or a denial with its SOA, whose records all have one TTL that no limit changes."""
    if reply.opt is not None or reply.rcode not in _PLAIN_RCODES:
        return False
    records = reply.answer or reply.authority
    if not records or (not reply.answer and records[0].rtype != consts.TYPE_SOA):
        return False
    ttl = records[0].ttl
    for limit in limits:
        if not limit.min_ttl <= ttl <= limit.ttl:
            return False
    for section in (reply.answer, reply.authority, reply.additional):
        for record in section:
            if record.ttl != ttl:
                return False
    return True


def _is_due(prefetch: Prefetch, item: Item, now: float, ttl: int) -> bool:
    """Count a hit; True if the entry is popular and near its end, with `ttl` seconds left."""
    item.hits = item.hits + 1 if now - item.last_hit <= prefetch.pause else 1
    item.last_hit = now
    return item.hits >= prefetch.amount and ttl <= -(-item.ttl * prefetch.percentage // 100)
