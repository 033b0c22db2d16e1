"""Whether an upstream is worth asking: probes begin with a failed query and end with a reply.

Any reply will do, unless there are rcodes that stand for an upstream in trouble. Then a query answered with one of
them begins probes, too, and they end with a probe that is answered with another one, never with a client's reply: a
resolver that has lost its own sources goes on answering what it has in its cache.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from waypost.metrics.registry import Counter
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.wire import consts
from waypost.wire.message import make_query
from waypost.wire.names import ROOT
from waypost.wire.query import Query

PROBE_TIMEOUT = 1.0
_MIN_INTERVAL = 0.1
# Each failed probe makes the pause half as long again, up to ten times the interval.
_GROWTH = 1.5
_MAX_STRETCH = 10.0


class HealthSettings(NamedTuple):
    """`interval` in seconds between probes; `steady` keeps it from growing. `max_fails` 0 never probes: always up.

    `unhealthy` are the rcodes that count as no reply.
    """

    max_fails: int = 2
    interval: float = 0.5
    recursion: bool = True
    domain: bytes = ROOT
    stream: bool = False
    steady: bool = False
    unhealthy: frozenset[int] = frozenset()

    def question(self) -> Query:
        """The probe: NS of the domain."""
        flags = consts.RD if self.recursion else 0
        wire = make_query(0, flags, self.domain, consts.TYPE_NS)
        return Query(wire, 0, flags, self.domain, consts.TYPE_NS, consts.CLASS_IN)


class Health:
    """Counts failed probes in a row.

    `probe` asks once: the rcode of the reply, or UpstreamError. `sleep` waits for seconds, `now` counts them.
    """

    __slots__ = ("_calm_until", "_failures", "_now", "_probe", "_settings", "_sleep", "_task", "fails")

    def __init__(
        self,
        settings: HealthSettings,
        probe: Callable[[], Awaitable[int]],
        failures: Counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fails = 0
        self._calm_until = float("-inf")
        self._settings = settings
        self._probe = probe
        self._failures = failures
        self._now = now
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    @property
    def down(self) -> bool:
        """True if more probes failed than are allowed."""
        return self._settings.max_fails != 0 and self.fails > self._settings.max_fails

    def suspect(self) -> None:
        """A query failed: find out whether the upstream is there."""
        if self._settings.max_fails and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._watch())

    def replied(self, rcode: int) -> None:
        """A query was answered: that is as good as a probe, as long as the rcode does not matter.

        If it does, one that stands for trouble is looked into, though not again at once after a good probe: there are
        names that any upstream fails for, and each query for them must not cost a probe.
        """
        if self._settings.unhealthy:
            if rcode in self._settings.unhealthy and self._now() >= self._calm_until:
                self.suspect()
        elif self._task is not None:
            self.close()
            self.fails = 0

    def close(self) -> None:
        """Stop probing."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self) -> None:
        pause = shortest = max(self._settings.interval, _MIN_INTERVAL)
        longest = pause if self._settings.steady else pause * _MAX_STRETCH
        while not await self._alive():
            self.fails += 1
            self._failures.inc()
            await self._sleep(pause)
            pause = min(pause * _GROWTH, longest)
        self._calm_until = self._now() + shortest
        self.fails = 0
        self._task = None

    async def _alive(self) -> bool:
        try:
            rcode = await self._probe()
        except Mismatch:
            return True
        except UpstreamError:
            return False
        return rcode not in self._settings.unhealthy
