"""The services of a name, from etcd, with the TTLs that their leases leave them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from waypost.plugins.etcd.gateway import Gateway, Pair
from waypost.plugins.etcd.layout import Layout, Service, cut, grouped, matches
from waypost.toolkit.http_api import ApiError
from waypost.wire import consts

DEFAULT_TTL: Final = 300
# No answer may be kept for longer than a week, whatever stands in etcd.
_MAX_TTL: Final = 7 * 86400


class LeaseBounds(NamedTuple):
    """The shortest and the longest TTL that a lease makes, in seconds."""

    least: int = 30
    most: int = 86400

    def hold(self, seconds: int) -> int:
        """The TTL of a record whose lease ends in so many seconds."""
        if seconds < self.least:
            return self.least
        return min(seconds, self.most)


class Store:
    """Reads etcd anew for every question. Methods raise ApiError if etcd does not answer, BadEntry for a bad value."""

    __slots__ = ("_bounds", "_gateway", "_layout")

    def __init__(self, gateway: Gateway, layout: Layout, bounds: LeaseBounds) -> None:
        self._gateway = gateway
        self._layout = layout
        self._bounds = bounds

    async def services(self, name: bytes, qtype: int, *, exact: bool = False) -> list[Service] | None:
        """Those of a lower-case name for a type; None if no key is there.

        They stand under the keys below the name's or, if there are none, under its own; with `exact` under that alone.
        The labels `*` and `any` stand for any other.
        """
        pattern = self._layout.key(name)
        if pattern is None:
            return None
        key = cut(pattern)
        pairs = () if exact else await self._gateway.below(key)
        pairs = pairs or await self._gateway.at(key)
        if not pairs:
            return None
        if key != pattern:
            pairs = tuple(pair for pair in pairs if matches(pair.key, pattern))
        leases = await self._lease_ttls(pairs)
        found = [_with_ttl(self._layout.service(pair.key, pair.value), leases.get(pair.lease, 0)) for pair in pairs]
        return grouped([service for service in found if _is_wanted(service, qtype)])

    async def exists(self, name: bytes) -> bool:
        """True if there is a key for a lower-case name, or below it."""
        pattern = self._layout.key(name)
        if pattern is None:
            return False
        if cut(pattern) != pattern:
            return await self.services(name, consts.TYPE_A) is not None
        return bool(await self._gateway.below(pattern, limit=1) or await self._gateway.at(pattern))

    async def _lease_ttls(self, pairs: Iterable[Pair]) -> dict[int, int]:
        """The TTL that each lease makes. One that etcd does not tell about may end at any moment."""
        leases = sorted({pair.lease for pair in pairs if pair.lease})
        left: Sequence[int | BaseException] = await asyncio.gather(
            *map(self._gateway.lease_ttl, leases), return_exceptions=True
        )
        found = {}
        for lease, seconds in zip(leases, left, strict=True):
            if isinstance(seconds, BaseException):
                if not isinstance(seconds, ApiError):
                    raise seconds
                seconds = 0
            found[lease] = self._bounds.hold(seconds)
        return found


def _with_ttl(service: Service, lease_ttl: int) -> Service:
    """The smaller of what the value says and the lease leaves."""
    given = [ttl for ttl in (service.ttl, lease_ttl) if ttl]
    return replace(service, ttl=min(*given, _MAX_TTL) if given else DEFAULT_TTL)


def _is_wanted(service: Service, qtype: int) -> bool:
    return bool(service.address or service.target or (qtype == consts.TYPE_TXT and service.text))
