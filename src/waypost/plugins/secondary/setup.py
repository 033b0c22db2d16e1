"""secondary: answer from zones that are transferred from their primaries.

secondary [ZONES...] {
    transfer from ADDRESS...
    fallthrough [ZONES...]
}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.secondary.handler import Secondary, Served
from waypost.plugins.secondary.zone import SecondaryZone
from waypost.toolkit.upstream_address import UpstreamAddress, parse_upstream
from waypost.toolkit.xfr_in import Primary
from waypost.toolkit.zonelist import ZoneList, fallthrough_of, zones_of
from waypost.toolkit.zonenotify import notify_secondaries
from waypost.wire import addr


@dataclass(frozen=True, slots=True)
class Config:
    """One `secondary` line. No `zones` stands for those of the block."""

    zones: tuple[str, ...] = ()
    primaries: tuple[UpstreamAddress, ...] = ()
    fall: ZoneList = field(default_factory=ZoneList)


def parse(directive: Directive) -> tuple[Config, ...]:
    """The `secondary` lines of a block. Raises CorefileError."""
    cursor = Cursor(directive)
    configs = []
    for args in cursor.occurrences():
        config = Config(tuple(args))
        for name, values in cursor.options():
            config = _with_option(cursor, config, name, values)
        if not config.primaries:
            raise cursor.err("secondary zones require a transfer from property")
        configs.append(config)
    return tuple(configs)


def _with_option(cursor: Cursor, config: Config, name: str, values: list[str]) -> Config:
    if name == "fallthrough":
        return replace(config, fall=fallthrough_of(values))
    if name == "catalog":
        raise cursor.err("catalog is not supported yet")
    if name != "transfer":
        raise cursor.err(f"unknown property '{name}'")
    if len(values) < 2:
        raise cursor.arg_err()
    if values[0] != "from":
        raise cursor.err(f"unknown property 'transfer {values[0]}'")
    return replace(config, primaries=config.primaries + tuple(_primary(text) for text in values[1:]))


def _primary(text: str) -> UpstreamAddress:
    address = None if "://" in text else parse_upstream(text, "secondary")
    if address is None:
        raise CorefileError.unlocated(f"must specify an IP address: `{text}'")
    return address


def setup(directive: Directive, site: Site) -> None:
    """Add one handler for all lines. Zones that a reload keeps with the same primaries go on without a transfer."""
    zones: dict[bytes, Served] = {}
    for config in parse(directive):
        packed = (addr.pack(address.ip) for address in config.primaries)
        allowed = frozenset(address for address in packed if address is not None)
        for origin in sorted(zones_of(config.zones, site.zones).zones):
            zone = _lend(site, origin, config.primaries)
            site.hooks.active.append(partial(_activate, zone, site))
            zones[origin] = Served(zone, allowed, config.fall)
    site.add(Secondary(zones, site.log))


def _lend(site: Site, origin: bytes, addresses: tuple[UpstreamAddress, ...]) -> SecondaryZone:
    def make() -> SecondaryZone:
        return SecondaryZone(origin, [Primary(address) for address in addresses], site.log)

    return site.services.lender.lend(("secondary", origin, addresses), make)


def _activate(zone: SecondaryZone, site: Site) -> None:
    zone.on_change = partial(notify_secondaries, site, zone.origin)
    zone.start()
