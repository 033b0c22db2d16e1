"""Puts route53 into a server block. Without the zones the configuration does not go live."""

from __future__ import annotations

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.route53.config import Config, parse
from waypost.toolkit.extras import require


def setup(directive: Directive, site: Site) -> None:
    """Add a handler for each line; the zones are read at the start. Raises CorefileError."""
    configs = parse(directive)
    require("botocore", "route53", "Route 53")
    for config in configs:
        if config.account.keys:
            site.log.warning(
                "aws_access_key in a Corefile is deprecated: use the environment, a credentials file or a role"
            )
        if config.idle:
            site.log.warning("'upstream' has no effect")
        _add(config, site)


def _add(config: Config, site: Site) -> None:
    from waypost.plugins.route53.handler import Route53
    from waypost.plugins.route53.source import HostedZone, Source, SourceError

    zones: dict[bytes, list[HostedZone]] = {}
    for origin, hosted_id in config.zones:
        zones.setdefault(origin, []).append(HostedZone(origin, hosted_id))
    source = Source([zone for group in zones.values() for zone in group], config.account, config.refresh, site.log)

    async def start() -> None:
        try:
            await source.start()
        except SourceError as exc:
            raise CorefileError.unlocated(f"plugin/route53: failed to initialize route53 plugin: {exc}") from exc

    site.hooks.start.append(start)
    site.hooks.stop.append(source.stop)
    site.add(Route53(zones, config.fall))
