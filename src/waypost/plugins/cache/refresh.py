"""Asking the source again for a kept entry: in the background, or while a client waits for the outcome.

One refresh of a key at most is under way, a bounded number in all, and none is left when the cache stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from waypost.dispatch.handler import Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED
from waypost.log import Log
from waypost.plugins.cache.config import Config, Stale
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.keep import WILDCARD, Asking, Keeper
from waypost.plugins.cache.key import Key
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.reply import Reply

# A refresh ends after this many seconds, whatever the source does.
_REFRESH_SECONDS = 10.0
_MAX_REFRESHES = 1000

Task = asyncio.Task[Reply | None]


class Refresher:
    """`serve` asks the source; `ask` does so for a client as if nothing was kept."""

    __slots__ = ("_ask", "_keeper", "_log", "_prefer_positive", "_serve", "_stale", "_tasks")

    def __init__(
        self,
        config: Config,
        keeper: Keeper,
        log: Log,
        *,
        serve: Callable[[Request], Outcome],
        ask: Callable[[Asking], Outcome],
    ) -> None:
        self._stale = config.stale or Stale()
        self._prefer_positive = config.prefer_positive
        self._keeper = keeper
        self._log = log
        self._serve = serve
        self._ask = ask
        self._tasks: dict[Key, Task] = {}

    def in_background(self, asking: Asking, item: Item, now: float) -> None:
        """Refresh an entry for nobody in particular, if that is not under way and was not tried just now."""
        if now < item.retry_at or len(self._tasks) >= _MAX_REFRESHES or asking.key in self._tasks:
            return
        asking.cells.prefetches.inc()
        request = asking.request
        child = with_ad(request)
        child.datagram = False  # there is no client whose buffer could be too small
        child.trace = None
        if request.metadata is not None:
            child.metadata = {label: value for label, value in request.metadata.items() if label != WILDCARD}
        self._start(asking._replace(request=child), item, child)

    def expired(self, asking: Asking, item: Item, bits: int, now: float) -> Outcome:
        """The answer to a client whose question finds an expired entry; `bits` as for `Item.reply`."""
        if now < item.retry_at:
            return self._stale_reply(asking, item, bits)
        if not self._stale.verify:
            self.in_background(asking, item, now)
            return self._stale_reply(asking, item, bits)
        running = self._tasks.get(asking.key)
        if running is not None:
            return self._join(asking, item, bits, running)
        outcome = self._start(asking, item, with_ad(asking.request))
        if isinstance(outcome, asyncio.Task):
            return self._wait(asking, item, bits, outcome)
        return self._better(asking, item, bits, outcome)

    async def stop(self) -> None:
        """End what is under way, and wait until it has ended."""
        await asyncio.sleep(0)  # a task that has not begun would leave behind, unawaited, what it was to wait for
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self, asking: Asking, item: Item, bits: int, running: Task) -> Reply:
        return self._better(asking, item, bits, await self._outcome(running))

    async def _join(self, asking: Asking, item: Item, bits: int, running: Task) -> Reply:
        """Wait for a refresh that another query began."""
        reply = await self._outcome(running)
        if reply is None:
            return self._stale_reply(asking, item, bits)
        if reply.flags & consts.TC and not asking.request.datagram:  # it was cut for a client that uses UDP
            outcome = self._ask(asking)
            return outcome if isinstance(outcome, Reply) else await outcome
        return self._better(asking, item, bits, reply.replace(question=b""))

    async def _outcome(self, running: Task) -> Reply | None:
        """What a refresh gives, None if it takes too long: it goes on then."""
        await asyncio.wait((running,), timeout=self._stale.timeout or None)
        return running.result() if running.done() and not running.cancelled() else None

    def _better(self, asking: Asking, item: Item, bits: int, reply: Reply | None) -> Reply:
        """The new reply, or else the expired entry."""
        if reply is None:
            return self._stale_reply(asking, item, bits)
        kept = self._keeper.store.success.peek(asking.key)
        survived = kept is not None and kept.stored == item.stored
        if self._prefer_positive and survived and not reply.flags & consts.TC:
            return self._stale_reply(asking, item, bits)
        return for_client(reply, asking.request.query)

    def _stale_reply(self, asking: Asking, item: Item, bits: int) -> Reply:
        asking.cells.stale.inc()
        asking.request.note("cache", "answered from an expired entry: the source has nothing better yet", ANSWERED)
        return item.reply(self._stale.ttl, bits)

    def _start(self, asking: Asking, item: Item, child: Request) -> Task | Reply | None:
        """Ask the source: its reply, None if it had none worth having, or a task that gives either."""
        try:
            outcome = self._serve(child)
            if isinstance(outcome, Reply):
                return self._settle(asking, item, outcome)
        except Exception as exc:
            self._failed(asking, item, exc)
            return None
        task = asyncio.get_running_loop().create_task(self._settle_later(asking, item, outcome))
        self._tasks[asking.key] = task
        task.add_done_callback(lambda _: self._tasks.pop(asking.key, None))
        return task

    async def _settle_later(self, asking: Asking, item: Item, waiting: Awaitable[Reply]) -> Reply | None:
        try:
            async with asyncio.timeout(_REFRESH_SECONDS):
                reply = await waiting
            return self._settle(asking, item, reply)
        except Exception as exc:
            self._failed(asking, item, exc)
            return None

    def _settle(self, asking: Asking, item: Item, reply: Reply) -> Reply | None:
        reply, good = self._keeper.settle(asking, reply)
        if good:
            return reply
        self._failed(asking, item)
        return None

    def _failed(self, asking: Asking, item: Item, exc: Exception | None = None) -> None:
        self._keeper.store.postpone(asking.key, item, self._keeper.now() + self._stale.recheck)
        if exc is not None:
            self._log.once_a_burst(self._log.error, f"refresh failed: {type(exc).__name__}: {exc}")


def with_ad(request: Request) -> Request:
    """A child that asks the same with AD set."""
    query = request.query
    flags = query.flags | consts.AD
    wire = query.wire[:2] + flags.to_bytes(2, "big") + query.wire[4:]
    return request.with_query(
        Query(wire, query.id, flags, query.qname, query.qtype, query.qclass, query.opt, query.starts)
    )


def for_client(reply: Reply, query: Query) -> Reply:
    """The reply with the header bits of this client: RD and CD as asked, AD only if it wants to know."""
    if not reply.written:
        return reply
    flags = reply.flags & ~(consts.COPIED | consts.AD) | query.flags & consts.COPIED
    if query.do or query.flags & consts.AD:
        flags |= reply.flags & consts.AD
    return reply if flags == reply.flags else reply.replace(flags=flags)
