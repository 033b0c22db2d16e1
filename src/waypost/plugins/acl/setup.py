"""Puts acl into a server block."""

from __future__ import annotations

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.acl.config import parse
from waypost.plugins.acl.handler import AccessList
from waypost.toolkit.zonelist import zones_of


def setup(directive: Directive, site: Site) -> None:
    """Add one handler for every occurrence."""
    rules = [(zones_of(config.zones, site.zones), config.policies) for config in parse(directive)]
    site.add(AccessList(rules, site))
