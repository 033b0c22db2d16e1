"""Puts sign into a server block. It is in no chain: *file* or *auto* serve what it writes."""

from __future__ import annotations

import glob
import os
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site, once
from waypost.plugins.sign.config import Config, parse
from waypost.toolkit.extras import require
from waypost.toolkit.zonelist import zones_of
from waypost.wire import names

if TYPE_CHECKING:
    from waypost.toolkit.dnssec_keys import Key

_ZONE_KEY = 0x0100


def setup(directive: Directive, site: Site) -> None:
    """Read the keys; the zones are looked after once live. Raises CorefileError."""
    configs = parse(directive)
    require("cryptography", "dnssec", "signing")
    from waypost.plugins.sign.lifetime import make_lifetime
    from waypost.plugins.sign.signer import SignedZone, Signer

    rng = random.Random()
    zones = []
    for config in configs:
        for origin in sorted(zones_of(config.zones, site.zones).zones):
            keys = _keys(config, origin, site)
            if not keys:
                site.log.warning(f"no key is given for {quote(names.to_text(origin))}: it is not signed")
                continue
            target = os.path.normpath(os.path.join(site.path(config.directory), signed_name(origin)))
            zones.append(SignedZone(origin, site.path(config.path), target, tuple(keys), make_lifetime(rng)))
    signer = Signer(zones, site.log)
    site.hooks.active.append(once(signer.start))
    site.hooks.stop.append(once(signer.stop))


def signed_name(origin: bytes) -> str:
    """The name of a zone's signed file. Raises CorefileError."""
    text = names.to_text(origin)
    if "/" in text:
        raise CorefileError.unlocated(
            f"zone {quote(text)} has a slash in its name: no file can be named db.{text}signed"
        )
    return f"db.{text}signed"


def _keys(config: Config, origin: bytes, site: Site) -> Sequence[Key]:
    from waypost.toolkit.dnssec_keys import load_keys

    bases = [site.path(name) for name in config.keys]
    for directory in map(site.path, config.key_directories):
        bases += key_files(directory, origin)
    keys = load_keys(bases)
    for base, key in zip(bases, keys, strict=True):
        if not (key.is_ksk and key.dnskey.flags & _ZONE_KEY):
            raise CorefileError.unlocated(f"DNSKEY in {quote(f'{base}.key')} is not a CSK/KSK")
    return keys


def key_files(directory: str, origin: bytes) -> list[str]:
    """The key pairs `K<zone>+<algorithm>+<tag>` of a zone in a directory, without suffix. Raises CorefileError."""
    name = f"K{names.to_text(origin)}+"
    found = sorted(glob.glob(f"{glob.escape(os.path.join(directory, name))}*+*.key"))
    if not found:
        raise CorefileError.unlocated(f"no key {quote(f'{name}...')} in directory {quote(directory)}")
    return [path.removesuffix(".key") for path in found]
