"""The `cache` directive to a handler with a store that outlives reloads; see `config` for the grammar."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from waypost.corefile.model import Directive
from waypost.dispatch.handler import ChangeFeed
from waypost.dispatch.site import Site
from waypost.plugins.cache.changes import Zoned
from waypost.plugins.cache.config import Config
from waypost.plugins.cache.config import parse as parse
from waypost.plugins.cache.handler import Cache
from waypost.plugins.cache.keep import Keeper
from waypost.plugins.cache.metrics import Cells, Meters
from waypost.plugins.cache.store import Store
from waypost.toolkit.zonelist import ZoneList, zones_of
from waypost.wire.names import ROOT


def setup(directive: Directive, site: Site) -> None:
    """Add the handler. Raises CorefileError."""
    config = parse(directive)
    zones = tuple(address.zone for address in site.addresses) if config.zones is None else config.zones
    meters = Meters(site.metrics)
    rng = random.Random()

    def cells(server: str) -> Cells:
        return meters.cells(server, ",".join(zones), site.view)

    keeper = Keeper(config, Store(config, rng))
    cache = Cache(config, zones_of(zones, ()), keeper, cells, site.log)
    site.add(cache)
    # The view's name, by which blocks with the same label differ, is known when every directive is set up.
    site.hooks.start.append(lambda: cache.use(_lent(site, config, rng)))
    site.hooks.active.append(lambda: _subscribe(cache, site))
    site.hooks.stop.append(cache.close)


def _lent(site: Site, config: Config, rng: random.Random) -> Store:
    """The store of the configuration before, if this block is at the same place and says the same of answers."""
    key = ("cache", site.addresses, tuple(site.bind), site.view, config, site.words)
    return site.services.lender.lend(key, lambda: Store(config, rng))


def _subscribe(cache: Cache, site: Site) -> None:
    """Hear of changes in the data of this block's own plugins; what changed unheard until now is dropped."""
    for handler in site.all_handlers():
        if isinstance(handler, ChangeFeed):
            zones = ZoneList(frozenset(handler.zones if isinstance(handler, Zoned) else (ROOT,)))
            site.hooks.stop.append(handler.subscribe(partial(_changed, cache, zones)))
            cache.invalidate_below(zones)


def _changed(cache: Cache, zones: ZoneList, changed: Sequence[bytes] | None) -> None:
    if changed is None:
        cache.invalidate_below(zones)
    else:
        cache.invalidate(changed)
