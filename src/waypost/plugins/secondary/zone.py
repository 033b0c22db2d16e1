"""One zone kept true to its primaries by the timers in its SOA and by NOTIFY (RFC 1034 section 4.3.5, RFC 1996)."""

from __future__ import annotations

import asyncio
import random
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from waypost.log import Log
from waypost.toolkit.background import Background
from waypost.toolkit.xfr_records import TransferError
from waypost.toolkit.zonedata import Zone
from waypost.wire import names

_TIMERS = struct.Struct("!IIII")
# Seconds: between the first attempts, doubled up to a limit; what is added at random, so that many do not ask at once.
_FIRST_RETRY, _LAST_RETRY = 0.25, 10.0
_REFRESH_JITTER, _RETRY_JITTER = 5.0, 2.0
# A primary is not asked more often than this, whatever its SOA says and however many NOTIFY come.
_LEAST_PAUSE = 1.0


class Source(Protocol):
    """A primary: see `toolkit.xfr_in.Primary`. Both methods raise TransferError."""

    async def serial(self, origin: bytes) -> int:
        """The serial of the zone there."""
        ...

    async def zone(self, origin: bytes, known: Zone | None = None) -> Zone | None:
        """The zone there; None if `known` is current."""
        ...

    def __str__(self) -> str:
        """Its address."""
        ...


class Clock(NamedTuple):
    """Time as the zone sees it, in seconds; `wait` ends early when the event is set."""

    now: Callable[[], float]
    wait: Callable[[asyncio.Event, float], Awaitable[None]]
    random_up_to: Callable[[float], float]


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


SYSTEM_CLOCK = Clock(time.monotonic, _wait, lambda limit: random.uniform(0, limit))


class SecondaryZone:
    """Asks the primaries in turn until one of them answers.

    It outlives reloads of the configuration; `on_change` is the latest one's.
    """

    __slots__ = ("_checked", "_clock", "_fresh", "_log", "_primaries", "_wake", "_work", "_zone", "on_change", "origin")

    def __init__(self, origin: bytes, primaries: Sequence[Source], log: Log, clock: Clock = SYSTEM_CLOCK) -> None:
        self.origin = origin
        self.on_change: Callable[[], None] = lambda: None
        self._primaries = primaries
        self._log = log
        self._clock = clock
        self._zone: Zone | None = None
        self._fresh = 0.0
        self._checked = 0.0
        self._wake = asyncio.Event()
        self._work = Background()

    def current(self) -> Zone | None:
        """The zone; None before the first transfer, and when no primary has answered until it expired."""
        zone = self._zone
        if zone is None or self._clock.now() - self._fresh > _expire(zone):
            return None
        return zone

    def check_soon(self) -> None:
        """A primary says that the zone has changed."""
        self._wake.set()

    def start(self) -> None:
        """Begin to follow the primaries, if that was not done before; needs the running event loop."""
        self._work.start(self._follow)

    async def close(self) -> None:
        """End that."""
        await self._work.stop()

    async def _follow(self) -> None:
        retry = _FIRST_RETRY
        while True:
            self._wake.clear()
            answered = await self._check()
            if self._zone is None:
                await self._clock.wait(self._wake, retry)
                retry = min(2 * retry, _LAST_RETRY)
                continue
            await self._clock.wait(self._wake, self._pause(self._zone, answered))
            early = _LEAST_PAUSE - (self._clock.now() - self._checked)
            if early > 0:
                await self._clock.wait(asyncio.Event(), early)

    def _pause(self, zone: Zone, answered: bool) -> float:
        refresh, retry, _ = _timers(zone)
        if answered:
            return refresh + self._clock.random_up_to(_REFRESH_JITTER)
        return retry + self._clock.random_up_to(_RETRY_JITTER)

    async def _check(self) -> bool:
        """True if a primary answered, and the zone is as it has it."""
        self._checked = self._clock.now()
        for primary in self._primaries:
            try:
                await self._update(primary)
            except TransferError as exc:
                text = f"Failed to transfer {names.to_text(self.origin)} from {primary}: {exc}"
                self._log.once_a_burst(self._log.error, text)
            else:
                self._fresh = self._clock.now()
                return True
        return False

    async def _update(self, primary: Source) -> None:
        known = self._zone
        if known is not None and not _is_newer(await primary.serial(self.origin), known.serial):
            return
        zone = await primary.zone(self.origin, known)
        if zone is None:
            return
        self._zone = zone
        self._log.info(f"Transferred {names.to_text(self.origin)} from {primary} with {zone.serial} SOA serial")
        self.on_change()


def _timers(zone: Zone) -> tuple[int, int, int]:
    refresh, retry, expire, _ = _TIMERS.unpack(zone.soa.rdata[-_TIMERS.size :])
    return refresh, retry, expire


def _expire(zone: Zone) -> int:
    """Never before the primaries were asked twice."""
    refresh, retry, expire = _timers(zone)
    return max(expire, refresh + retry + round(_REFRESH_JITTER + _RETRY_JITTER))


def _is_newer(serial: int, known: int) -> bool:
    """Serial number arithmetic (RFC 1982)."""
    return 0 < (serial - known) & 0xFFFFFFFF < 0x80000000
