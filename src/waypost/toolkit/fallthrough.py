"""`fallthrough [ZONES...]`: names that a plugin does not know and hands to the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waypost.corefile.zones import zones_of_argument
from waypost.wire import names


@dataclass(frozen=True, slots=True)
class Fallthrough:
    """Zones in wire form and lower case; none at all: the option was not given."""

    zones: tuple[bytes, ...] = ()

    def covers(self, name: bytes) -> bool:
        """True if the (lower-case) name may fall through."""
        return any(zone == names.ROOT or names.is_within(name, zone) for zone in self.zones)


def parse_fallthrough(args: Sequence[str]) -> Fallthrough:
    """The option's arguments; none means every name."""
    return Fallthrough(wire_zones(args) if args else (names.ROOT,))


def wire_zones(args: Sequence[str]) -> tuple[bytes, ...]:
    """ZONES arguments of a directive in wire form, networks expanded, what is no zone left out."""
    return tuple(names.from_text(zone) for arg in args for zone in zones_of_argument(arg))
