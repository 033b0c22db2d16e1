"""`transfer` directive -> Config -> handler."""

from __future__ import annotations

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.transfer.config import parse
from waypost.plugins.transfer.handler import Transfer
from waypost.plugins.transfer.notify import Notifier


def setup(directive: Directive, site: Site) -> None:
    """Add the handler. Raises CorefileError."""
    config = parse(directive, site.zones)
    notifier = Notifier(site.log)
    site.add(Transfer(config, site, notifier, site.log))
    site.hooks.stop.append(notifier.close)
