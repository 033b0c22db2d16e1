"""Whether an upstream is worth asking: probes begin with a failed query and end with a reply, whatever it says."""

from __future__ import annotations

import asyncio
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
    """`interval` in seconds between probes; `steady` keeps it from growing. `max_fails` 0 never probes: always up."""

    max_fails: int = 2
    interval: float = 0.5
    recursion: bool = True
    domain: bytes = ROOT
    stream: bool = False
    steady: bool = False

    def question(self) -> Query:
        """The probe: NS of the domain."""
        flags = consts.RD if self.recursion else 0
        wire = make_query(0, flags, self.domain, consts.TYPE_NS)
        return Query(wire, 0, flags, self.domain, consts.TYPE_NS, consts.CLASS_IN)


class Health:
    """Counts failed probes in a row. `probe` asks once and raises UpstreamError; `sleep` waits for seconds."""

    __slots__ = ("_failures", "_probe", "_settings", "_sleep", "_task", "fails")

    def __init__(
        self,
        settings: HealthSettings,
        probe: Callable[[], Awaitable[None]],
        failures: Counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.fails = 0
        self._settings = settings
        self._probe = probe
        self._failures = failures
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

    def replied(self) -> None:
        """A query was answered: that is as good as a probe."""
        if self._task is not None:
            self.close()
            self.fails = 0

    def close(self) -> None:
        """Stop probing."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self) -> None:
        pause = max(self._settings.interval, _MIN_INTERVAL)
        longest = pause if self._settings.steady else pause * _MAX_STRETCH
        while not await self._alive():
            self.fails += 1
            self._failures.inc()
            await self._sleep(pause)
            pause = min(pause * _GROWTH, longest)
        self.fails = 0
        self._task = None

    async def _alive(self) -> bool:
        try:
            await self._probe()
        except Mismatch:
            return True
        except UpstreamError:
            return False
        return True
