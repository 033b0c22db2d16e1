"""Puts dnssec into a server block."""

from __future__ import annotations

import random
import time

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.plugins.dnssec.config import parse
from waypost.plugins.dnssec.metrics import Meters
from waypost.toolkit.extras import require
from waypost.toolkit.zonelist import zones_of
from waypost.wire import names


def setup(directive: Directive, site: Site) -> None:
    """Read the keys and add the handler. Raises CorefileError."""
    config = parse(directive)
    if not config.keys:
        site.log.warning("no key is given: nothing is signed")
        return
    require("cryptography", "dnssec", "signing")
    from waypost.plugins.dnssec.handler import Dnssec
    from waypost.plugins.dnssec.signing import Signer
    from waypost.toolkit.dnssec_keys import load_keys

    zones = zones_of(config.zones, site.zones)
    keys = load_keys(map(site.path, config.keys))
    for key in keys:
        if not any(names.is_within(key.owner, zone) for zone in zones.zones):
            owner = quote(names.to_text(key.owner))
            raise CorefileError.unlocated(f"key {owner} (keyid: {key.tag}) can not sign any of the zones")
    signer = Signer(keys, config.capacity, random.Random(), time.time)
    site.add(Dnssec(zones, signer, Meters(site.metrics)))
