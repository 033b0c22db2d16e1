"""Puts etcd into a server block."""

from __future__ import annotations

import time
from typing import Final

from waypost import __version__
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.plugins.etcd.config import Config, parse
from waypost.plugins.etcd.gateway import Credentials, Gateway
from waypost.plugins.etcd.handler import Etcd
from waypost.plugins.etcd.layout import Layout
from waypost.plugins.etcd.store import LeaseBounds, Store
from waypost.toolkit.http_api import HttpApi, endpoint_of
from waypost.toolkit.upstream_tls import client_context, files_of
from waypost.toolkit.zonelist import ZoneList, zones_of
from waypost.wire import names

_PATIENCE: Final = 5.0
# Room for `hostmaster` and for `apex.dns` before the zone.
_MAX_ZONE: Final = names.MAX_NAME - 11


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; etcd is asked once live. Raises CorefileError."""
    config = parse(directive)
    for option in config.idle:
        site.log.warning(f"'{option}' has no effect")
    if config.repeated:
        site.log.warning("only the first etcd of a server block has an effect")
    zones = zones_of(config.zones, site.zones)
    _check_zones(zones)
    bounds = LeaseBounds(
        config.min_lease_ttl or LeaseBounds().least,
        config.max_lease_ttl or LeaseBounds().most,
    )
    api = make_api(config, site)
    gateway = Gateway(api, Credentials(*config.credentials) if config.credentials else None, time.monotonic)
    site.hooks.start.append(api.open)
    site.hooks.stop.append(api.close)
    site.add(Etcd(Store(gateway, Layout(config.path), bounds), zones, config.fall, time.time))


def make_api(config: Config, site: Site) -> HttpApi:
    """The servers that the directive names. Raises CorefileError."""
    tls = None if config.tls is None else client_context(files_of([site.path(name) for name in config.tls]))
    return HttpApi(
        [endpoint_of(text, "http" if tls is None else "https") for text in config.endpoints],
        headers={"User-Agent": f"Waypost-{__version__}", "Content-Type": "application/json"},
        patience=_PATIENCE,
        tls=tls,
    )


def _check_zones(zones: ZoneList) -> None:
    for zone in zones.zones:
        if len(zone) > _MAX_ZONE:
            raise CorefileError.unlocated(f"zone {quote(names.to_text(zone))} is too long: names below it have no room")
