"""How hard we may press an API server: a token bucket for the rate, and a bound on requests at one time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

DEFAULT_QPS = 5.0
DEFAULT_BURST = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """`apiserver_qps`, `apiserver_burst`, `apiserver_max_inflight`; 0 means client-go's default (5, 10, no bound)."""

    qps: float = 0.0
    burst: int = 0
    max_inflight: int = 0


class Admission:
    """Lets requests through at `limits`, first come first served."""

    def __init__(
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._qps = limits.qps or DEFAULT_QPS
        self._burst = float(limits.burst or DEFAULT_BURST)
        self._tokens = self._burst
        self._clock = clock
        self._sleep = sleep
        self._filled_at = clock()
        self._slots = asyncio.Semaphore(limits.max_inflight) if limits.max_inflight else None
        self._pages_count = bool(limits.qps)

    @asynccontextmanager
    async def request(self, *, next_page: bool = False) -> AsyncIterator[float]:
        """Waits for a turn and holds it; gives the seconds waited for the rate.

        At the default rate the pages of a list after the first are free, as they follow each other and not us: a
        list in one piece, which would cost one turn, is worse for everybody. A rate that the user set is kept.
        """
        waited = 0.0 if next_page and not self._pages_count else self._reserve()
        if waited:
            await self._sleep(waited)
        if self._slots is None:
            yield waited
        else:
            async with self._slots:
                yield waited

    def _reserve(self) -> float:
        """Takes a token, maybe one of the future; the seconds until it exists."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._qps)
