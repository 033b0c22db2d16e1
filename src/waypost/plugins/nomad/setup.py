"""Puts nomad into a server block."""

from __future__ import annotations

import os
from typing import Final

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.corefile.zones import normalize_name
from waypost.dispatch.site import Site
from waypost.plugins.nomad.access import api_of, parameters_of
from waypost.plugins.nomad.catalogue import Catalogue
from waypost.plugins.nomad.config import parse
from waypost.plugins.nomad.handler import Nomad
from waypost.plugins.nomad.metrics import Metrics
from waypost.wire import names
from waypost.wire.errors import BadName

# Room for `hostmaster` before the zone.
_MAX_ZONE: Final = names.MAX_NAME - 11


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; Nomad is looked for at the start. Raises CorefileError."""
    config = parse(directive)
    for word in config.unused:
        site.log.warning(f"'{word}' has no effect: a server block has one nomad with one zone")
    try:
        zone = names.from_text(normalize_name(config.zone))
    except BadName as exc:
        raise CorefileError.unlocated(f"zone {quote(config.zone)}: {exc}") from exc
    if len(zone) > _MAX_ZONE:
        raise CorefileError.unlocated(f"zone {quote(config.zone)} is too long: names below it have no room")
    catalogue = Catalogue(api_of(config, os.environ), parameters_of(config, os.environ), site.log)
    site.hooks.start.append(catalogue.start)
    site.hooks.stop.append(catalogue.close)
    site.add(Nomad(zone, config.ttl, catalogue, Metrics(site.metrics)))
