"""Several upstreams as one: which is asked first, which next, and when to give up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from waypost.metrics.registry import Counter
from waypost.toolkit.exchange import Transport
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstream_group import Upstream, UpstreamGroup
from waypost.wire.message import Message
from waypost.wire.query import Query

_QUERY_DEADLINE = 5.0
# Only a limit of attempts that was switched off leads here: a refused connection must not become a busy loop.
_PAUSE_AFTER_PASS = 0.1


class Policy:
    """The order in which upstreams are tried."""

    __slots__ = ("_rng", "_turn", "order")

    def __init__(self, name: str, rng: random.Random) -> None:
        self.order = {"random": self._random, "round_robin": self._round_robin, "sequential": self._sequential}[name]
        self._rng = rng
        self._turn = 0

    def _random(self, members: Sequence[Upstream]) -> Sequence[Upstream]:
        if len(members) < 2:
            return members
        shuffled = list(members)
        self._rng.shuffle(shuffled)
        return shuffled

    def _round_robin(self, members: Sequence[Upstream]) -> Sequence[Upstream]:
        if len(members) < 2:
            return members
        self._turn = (self._turn + 1) % len(members)
        return (members[self._turn], *members[: self._turn], *members[self._turn + 1 :])

    def _sequential(self, members: Sequence[Upstream]) -> Sequence[Upstream]:
        return members


class SelectionLimits(NamedTuple):
    """`max_attempts` failed ones a query, None for twice the number of upstreams, 0 for any number in five seconds.

    With `fail_fast` nobody is asked when every upstream is down. On an rcode of `failover` the next one is asked.
    """

    max_attempts: int | None = None
    fail_fast: bool = False
    failover: frozenset[int] = frozenset()


class Answered(NamedTuple):
    """A reply and who gave it."""

    message: Message
    upstream: Upstream


class Selection:
    """Asks the upstreams of a group until one answers. `broken` counts queries that found every upstream down."""

    __slots__ = ("_broken", "_group", "_limits", "_now", "_policy", "_rng", "_sleep")

    def __init__(
        self,
        group: UpstreamGroup,
        policy: str,
        limits: SelectionLimits,
        broken: Counter,
        *,
        rng: random.Random,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._group = group
        self._policy = Policy(policy, rng)
        self._limits = limits
        self._broken = broken
        self._rng = rng
        self._now = now
        self._sleep = sleep

    async def ask(self, query: Query, transport: Transport) -> Answered:
        """The first usable reply, or the last one that was to be improved on. Raises UpstreamError."""
        self._group.enter()
        try:
            return await self._ask(query, transport)
        finally:
            self._group.leave()

    async def _ask(self, query: Query, transport: Transport) -> Answered:
        members = self._group.members
        order = self._policy.order(members)
        attempts = _Attempts(self._limits.max_attempts, len(members), self._now)
        while True:
            best: Answered | None = None
            asked = False
            for upstream in order:
                if upstream.health.down:
                    continue
                if attempts.spent():
                    break
                asked = True
                try:
                    answered = Answered(await upstream.ask(query, transport), upstream)
                except Mismatch:
                    raise
                except UpstreamError as exc:
                    attempts.failed(exc)
                    continue
                if answered.message.rcode not in self._limits.failover:
                    return answered
                best = answered
            if best is not None:
                return best
            if attempts.spent():
                raise attempts.error
            if not asked:
                return await self._ask_any(query, transport, members, attempts.error)
            if not attempts.limit:
                await self._sleep(_PAUSE_AFTER_PASS)

    async def _ask_any(
        self, query: Query, transport: Transport, members: Sequence[Upstream], error: UpstreamError
    ) -> Answered:
        """Every upstream is down, or so the probes say: one is asked all the same."""
        self._broken.inc()
        if not members or self._limits.fail_fast:
            raise error
        upstream = self._rng.choice(members)
        return Answered(await upstream.ask(query, transport), upstream)


class _Attempts:
    """What one query may still cost. The deadline counts between attempts, and from the first failure on."""

    __slots__ = ("_count", "_deadline", "_now", "error", "limit")

    def __init__(self, limit: int | None, upstreams: int, now: Callable[[], float]) -> None:
        self.limit = 2 * upstreams if limit is None else limit
        self.error = UpstreamError("no healthy proxies")
        self._count = 0
        self._now = now
        self._deadline = now() + _QUERY_DEADLINE

    def failed(self, error: UpstreamError) -> None:
        """One attempt was in vain."""
        self.error = error
        self._count += 1

    def spent(self) -> bool:
        """True if there is to be no other attempt."""
        return self._count > 0 and (self._count == self.limit or self._now() >= self._deadline)
