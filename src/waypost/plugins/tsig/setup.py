"""Puts tsig into a server block."""

from __future__ import annotations

import base64
import binascii
import time

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.tsig.config import parse, with_keys
from waypost.plugins.tsig.handler import Tsig
from waypost.toolkit.zonelist import zones_of
from waypost.wire import names
from waypost.wire.errors import BadName


def setup(directive: Directive, site: Site) -> None:
    """Read the keys and add the handler."""
    config = parse(directive)
    texts = config.secrets
    for path in config.files:
        try:
            with open(path, encoding="utf-8") as file:
                texts = with_keys(texts, file.read())
        except (OSError, ValueError) as exc:
            reason = f"open {path}: {(exc.strerror or '').lower()}" if isinstance(exc, OSError) else f"{path}: {exc}"
            raise CorefileError.unlocated(reason) from exc
    secrets = {}
    for name, text in texts.items():
        try:
            secrets[names.from_text(name)] = base64.b64decode(text, validate=True)
        except (binascii.Error, BadName):
            site.log.warning(f"key {name} cannot be used: its secret must be base64")
    zones = zones_of(config.zones, site.zones)
    site.add(Tsig(zones, secrets, config.types, config.opcodes, time.time))
