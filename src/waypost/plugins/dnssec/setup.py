"""Puts dnssec into a server block."""

from __future__ import annotations

import random
import time
from importlib.util import find_spec

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.plugins.dnssec.config import parse
from waypost.plugins.dnssec.metrics import Meters
from waypost.toolkit.zonelist import zones_of
from waypost.wire import names


def setup(directive: Directive, site: Site) -> None:
    """Read the keys and add the handler. Raises CorefileError."""
    config = parse(directive)
    if not config.keys:
        site.log.warning("no key is given: nothing is signed")
        return
    if find_spec("cryptography") is None:
        raise CorefileError.unlocated(
            "signing needs the package cryptography, which is not installed: pip install 'waypost[dnssec]'"
        )
    from waypost.plugins.dnssec.handler import Dnssec
    from waypost.plugins.dnssec.keys import KeyFileError, read_key
    from waypost.plugins.dnssec.signing import Signer

    zones = zones_of(config.zones, site.zones)
    keys = []
    for path in map(site.path, config.keys):
        try:
            key = read_key(path)
        except OSError as exc:
            raise CorefileError.unlocated(f"open {exc.filename}: {(exc.strerror or '').lower()}") from exc
        except KeyFileError as exc:
            raise CorefileError.unlocated(str(exc)) from exc
        if not any(names.is_within(key.owner, zone) for zone in zones.zones):
            owner = quote(names.to_text(key.owner))
            raise CorefileError.unlocated(f"key {owner} (keyid: {key.tag}) can not sign any of the zones")
        keys.append(key)
    signer = Signer(keys, config.capacity, random.Random(), time.time)
    site.add(Dnssec(zones, signer, Meters(site.metrics)))
