"""Puts rewrite into a server block."""

from __future__ import annotations

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.rewrite.config import parse
from waypost.plugins.rewrite.handler import Rewrite


def setup(directive: Directive, site: Site) -> None:
    """Add one handler for all rules of the block."""
    config = parse(directive)
    for warning in config.warnings:
        site.log.warning(warning)
    site.add(Rewrite(config.steps))
