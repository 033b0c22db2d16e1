"""Leader election: of several processes one acts, the one that holds a Lease and renews it.

The rules and times are client-go's. Clocks of other machines are not trusted: a lease is over when it has not changed
for its duration by our own monotonic clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Final

from waypost.autoscale.api import Api, Lease, LeaseSpec
from waypost.kube.errors import ApiStatusError, ClusterError
from waypost.kube.following import Log

DURATION: Final = 15.0
RENEW_DEADLINE: Final = 10.0
RETRY: Final = 2.0
_CONFLICT: Final = 409
_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Seen:
    """A lease as it was read last, and when (monotonic) it was first seen like this."""

    spec: LeaseSpec
    since: float

    def is_held_by_other(self, me: str, now: float) -> bool:
        """Whether somebody else holds it, and may still be alive."""
        holder = self.spec.holder_identity
        if not holder or holder == me:
            return False
        return now < self.since + float(self.spec.lease_duration_seconds or DURATION)


def claim(old: LeaseSpec, me: str, stamp: str) -> LeaseSpec:
    """The lease as ours: renewed, or taken over."""
    mine = old.holder_identity == me
    return LeaseSpec(
        me,
        int(DURATION),
        old.acquire_time if mine and old.acquire_time else stamp,
        stamp,
        (old.lease_transitions or 0) + (not mine and bool(old.renew_time)),
    )


class LeaderElection:
    """Tells whether we lead. `run` keeps that up to date until it is cancelled; then it gives the lease back."""

    def __init__(
        self,
        api: Api,
        name: str,
        identity: str,
        log: Log,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: Random | None = None,
    ) -> None:
        """`clock` is monotonic, `wall` Unix time, both in seconds."""
        self._api = api
        self._name = name
        self._me = identity
        self._log = log
        self._clock = clock
        self._wall = wall
        self._sleep = sleep
        self._rng = rng or Random()
        self._seen: Seen | None = None
        self._renewed: float | None = None
        self._leads = False

    @property
    def leads(self) -> bool:
        """True while the lease is ours for certain: renewed within the deadline."""
        return self._renewed is not None and self._clock() < self._renewed + RENEW_DEADLINE

    async def run(self) -> None:
        """Try to get the lease, and keep it."""
        try:
            while True:
                await self.step()
                await self._sleep(RETRY * (1.0 + 0.2 * self._rng.random()))
        finally:
            if self.leads:
                await self._release()

    async def step(self) -> None:
        """One look at the lease."""
        asked = self._clock()
        try:
            got = await self._try()
        except ClusterError as exc:
            got = False
            self._log.error(f"lease {self._name}: {exc}")
        if got:
            self._renewed = asked
        if self.leads != self._leads:
            self._leads = self.leads
            self._log.info(f"lease {self._name}: {'leading' if self._leads else 'not leading any more'}")

    async def _try(self) -> bool:
        stamp = _stamp(self._wall())
        try:
            lease = await self._api.lease(self._name)
        except ApiStatusError as exc:
            if exc.code != _NOT_FOUND:
                raise
            return await self._won(self._api.create_lease(self._name, claim(LeaseSpec(), self._me, stamp)))
        self._look(lease)
        assert self._seen is not None
        if self._seen.is_held_by_other(self._me, self._clock()):
            self._renewed = None
            return False
        change = self._api.update_lease(self._name, lease.metadata.resource_version, claim(lease.spec, self._me, stamp))
        return await self._won(change)

    async def _won(self, change: Awaitable[Lease]) -> bool:
        """Whether our change was taken; with a conflict somebody else's was."""
        try:
            self._look(await change)
        except ApiStatusError as exc:
            if exc.code != _CONFLICT:
                raise
            self._renewed = None
            return False
        return True

    def _look(self, lease: Lease) -> None:
        if self._seen is None or self._seen.spec != lease.spec:
            self._seen = Seen(lease.spec, self._clock())

    async def _release(self) -> None:
        """Let the next one begin at once."""
        self._renewed = None
        try:
            lease = await self._api.lease(self._name)
            if lease.spec.holder_identity == self._me:
                free = LeaseSpec("", 1, lease.spec.acquire_time, _stamp(self._wall()), lease.spec.lease_transitions)
                await self._api.update_lease(self._name, lease.metadata.resource_version, free)
        except ClusterError as exc:
            self._log.info(f"lease {self._name}: not given back: {exc}")


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
