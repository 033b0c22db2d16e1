"""Several upstreams as one: which is asked first, which next, and when to give up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from waypost.dispatch.pending import Pending
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


Tell = Callable[[str], None]
"""Takes a sentence about what happened on the way, for an explanation."""


class Answered(NamedTuple):
    """A reply and who gave it."""

    message: Message
    upstream: Upstream


Result = Answered | UpstreamError


class Failed(NamedTuple):
    """What became of a query that had set out: the upstream, the error, and for how many seconds it was under way."""

    upstream: Upstream
    error: UpstreamError
    seconds: float


class Selection:
    """Asks the upstreams of a group until one answers. `broken` counts queries that found every upstream down."""

    __slots__ = ("_broken", "_group", "_limits", "_now", "_policy", "_rng", "_sleep", "_tasks")

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
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def told(self) -> str:
        """The upstreams there are now, for an explanation."""
        return " ".join(upstream.text for upstream in self._group.members) or "none"

    def ask(self, query: Query, transport: Transport, tell: Tell | None = None) -> Pending[Result]:
        """The first usable reply, or the last one that was to be improved on, or why there is none.

        Mostly the first upstream answers, and then no task is needed. `tell` hears of everything else on the way.
        """
        self._group.enter()
        members = self._group.members
        attempt = _Attempt(query, transport, members, self._policy.order(members), self._now(), tell)
        pending: Pending[Result] = Pending()

        def received(result: Message | UpstreamError) -> None:
            if type(result) is Message and result.rcode not in self._limits.failover:
                self._group.leave()
                pending.settle(Answered(result, first))
            else:
                self._go_on(pending, attempt, _Tried(first, result))

        for first in attempt.order if tell is None else ():
            if not first.health.down:
                if first.post(query, transport, received):
                    return pending
                break
        self._go_on(pending, attempt, None)
        return pending

    def set_out(self) -> Upstream | None:
        """Whom to send a query to that goes over UDP without `ask`; None if it must be `ask`.

        Who gets one says `arrive` when there is an outcome.
        """
        for upstream in self._policy.order(self._group.members):
            if not upstream.health.down:
                if upstream.datagrams is None or self._limits.failover:
                    return None
                self._group.enter()
                return upstream
        return None

    def arrive(self) -> None:
        """A query that had set out has its outcome."""
        self._group.leave()

    def carry_on(self, query: Query, transport: Transport, failed: Failed, tell: Tell | None = None) -> Pending[Result]:
        """Ask on where a query that had set out has failed."""
        self._group.enter()
        members = self._group.members
        others = self._policy.order([upstream for upstream in members if upstream is not failed.upstream])
        attempt = _Attempt(query, transport, members, (failed.upstream, *others), self._now() - failed.seconds, tell)
        pending: Pending[Result] = Pending()
        self._go_on(pending, attempt, _Tried(failed.upstream, failed.error))
        return pending

    def _go_on(self, pending: Pending[Result], attempt: _Attempt, tried: _Tried | None) -> None:
        """A task does the rest, from what was tried on."""
        task = asyncio.get_running_loop().create_task(self._settle(pending, attempt, tried))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, pending: Pending[Result], attempt: _Attempt, tried: _Tried | None) -> None:
        result: Result
        try:
            result = await self._ask(attempt, tried)
        except UpstreamError as exc:
            result = exc
        finally:
            self._group.leave()
        pending.settle(result)

    async def _ask(self, attempt: _Attempt, tried: _Tried | None) -> Answered:
        attempts = _Attempts(self._limits.max_attempts, len(attempt.members), self._now, attempt.started)
        while True:
            best: Answered | None = None
            asked = False
            for upstream in attempt.order:
                if tried is not None and upstream is not tried.upstream:
                    continue
                if tried is None and upstream.health.down:
                    attempt.note(f"upstream {upstream.text} is down by its health checks: left out")
                    continue
                if attempts.spent():
                    break
                asked = True
                given, tried = tried, None
                try:
                    answered = Answered(await _reply(upstream, attempt, given), upstream)
                except Mismatch:
                    raise
                except UpstreamError as exc:
                    attempts.failed(exc)
                    attempt.note(f"upstream {upstream.text} failed: {exc}")
                    continue
                if answered.message.rcode not in self._limits.failover:
                    return answered
                best = answered
                attempt.note(f"upstream {upstream.text} answered with an rcode of 'failover': the next one is asked")
            if best is not None:
                return best
            if attempts.spent():
                raise attempts.error
            if not asked:
                attempt.note("every upstream is down")
                return await self._ask_any(attempt, attempts.error)
            if not attempts.limit:
                await self._sleep(_PAUSE_AFTER_PASS)

    async def _ask_any(self, attempt: _Attempt, error: UpstreamError) -> Answered:
        """Every upstream is down, or so the probes say: one is asked all the same."""
        self._broken.inc()
        if not attempt.members or self._limits.fail_fast:
            raise error
        upstream = self._rng.choice(attempt.members)
        return Answered(await upstream.ask(attempt.query, attempt.transport), upstream)


class _Attempt(NamedTuple):
    """One query on its way to the upstreams `members`, in this order, since this time."""

    query: Query
    transport: Transport
    members: Sequence[Upstream]
    order: Sequence[Upstream]
    started: float
    tell: Tell | None

    def note(self, text: str) -> None:
        """Something for an explanation, if there is to be one."""
        if self.tell is not None:
            self.tell(text)


class _Tried(NamedTuple):
    """What an upstream gave that was asked already."""

    upstream: Upstream
    result: Message | UpstreamError


async def _reply(upstream: Upstream, attempt: _Attempt, tried: _Tried | None) -> Message:
    if tried is None:
        return await upstream.ask(attempt.query, attempt.transport)
    if isinstance(tried.result, UpstreamError):
        raise tried.result
    return tried.result


class _Attempts:
    """What one query may still cost. The deadline counts between attempts, and from the first failure on."""

    __slots__ = ("_count", "_deadline", "_now", "error", "limit")

    def __init__(self, limit: int | None, upstreams: int, now: Callable[[], float], started: float) -> None:
        self.limit = 2 * upstreams if limit is None else limit
        self.error = UpstreamError("no healthy proxies")
        self._count = 0
        self._now = now
        self._deadline = started + _QUERY_DEADLINE

    def failed(self, error: UpstreamError) -> None:
        """One attempt was in vain."""
        self.error = error
        self._count += 1

    def spent(self) -> bool:
        """True if there is to be no other attempt."""
        return self._count > 0 and (self._count == self.limit or self._now() >= self._deadline)
