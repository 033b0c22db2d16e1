"""ZONES arguments of a directive: which names a plugin is for, or may let through (`fallthrough`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from waypost.corefile.zones import zones_of_argument
from waypost.wire import names
from waypost.wire.query import Query

# Up to so many zones it is cheaper to try each than to walk up the name.
_FEW = 4


@dataclass(frozen=True, slots=True)
class ZoneList:
    """Zones in wire form and lower case; an empty list matches no name."""

    zones: frozenset[bytes] = frozenset()

    def match(self, name: bytes) -> bytes | None:
        """The longest zone that the lower-case name lies in."""
        zones = self.zones
        if not zones:
            return None
        i = 0
        while length := name[i]:
            if name[i:] in zones:
                return name[i:]
            i += length + 1
        return names.ROOT if names.ROOT in zones else None

    def covers(self, name: bytes) -> bool:
        """True if the lower-case name lies in any of the zones."""
        return self.match(name) is not None

    def holds(self, query: Query) -> bool:
        """True if the query's name lies in any of the zones."""
        zones = self.zones
        if len(zones) > _FEW:
            return self.match(query.name) is not None
        for zone in zones:  # noqa: SIM110 - on the way of a query: a generator costs twice as much
            if query.within(zone):
                return True
        return False


def wire_zones(arguments: Iterable[str]) -> tuple[bytes, ...]:
    """ZONES arguments in wire form and their order, networks turned into reverse zones, what is no zone left out."""
    return tuple(names.from_text(zone) for text in arguments for zone in zones_of_argument(text))


def zones_of(arguments: Iterable[str], otherwise: Iterable[bytes]) -> ZoneList:
    """The zones of ZONES arguments, networks turned into reverse zones; `otherwise` if there is no argument.

    What is no zone is left out, as in CoreDNS.
    """
    texts = list(arguments)
    if not texts:
        return ZoneList(frozenset(otherwise))
    return ZoneList(frozenset(wire_zones(texts)))


def fallthrough_of(arguments: Iterable[str]) -> ZoneList:
    """The zones of a `fallthrough` line: all names without an argument."""
    return zones_of(arguments, (names.ROOT,))
