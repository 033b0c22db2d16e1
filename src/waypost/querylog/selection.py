"""Which queries are to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import TypeAlias

from waypost.querylog.record import Query

Network: TypeAlias = IPv4Network | IPv6Network
_REMEMBERED = 4_096


class Selection:
    """Queries from `since` to before `until` (Unix time), of clients in any of the networks, for names in any zone.

    Zones are in lower case with the final dot, and hold their own name. An empty sequence stands for all. A query of
    which a condition cannot be told does not fulfil it.
    """

    __slots__ = ("_is_client", "_since", "_until", "_zones")

    def __init__(
        self,
        since: float | None = None,
        until: float | None = None,
        clients: Sequence[Network] = (),
        zones: Sequence[str] = (),
    ) -> None:
        self._since = since
        self._until = until
        self._zones = [(zone, f".{zone}") for zone in zones if zone != "."]

        def is_client(address: str) -> bool:
            try:
                parsed = ip_address(address)
            except ValueError:
                return False
            return any(parsed in network for network in clients)

        self._is_client = lru_cache(_REMEMBERED)(is_client) if clients else None

    @property
    def everything(self) -> bool:
        """Whether nothing is left aside."""
        return self._since is self._until is None and self._is_client is None and not self._zones

    def holds(self, query: Query) -> bool:
        """Whether a query is to be counted."""
        if self._since is not None and (query.time is None or query.time < self._since):
            return False
        if self._until is not None and (query.time is None or query.time >= self._until):
            return False
        if self._zones and not any(query.name == own or query.name.endswith(below) for own, below in self._zones):
            return False
        return self._is_client is None or self._is_client(query.client)
