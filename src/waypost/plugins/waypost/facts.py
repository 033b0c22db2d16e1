"""What is told about the running configuration."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from waypost import __version__
from waypost.corefile.addresses import join_host_port
from waypost.dispatch.site import ConfigurationFacts, Site
from waypost.wire import names


def facts(configuration: ConfigurationFacts, sites: Iterable[Site]) -> dict[str, object]:
    """Version, SHA-512, files, time of loading (RFC 3339, UTC), and the zones of each listen address."""
    loaded = datetime.fromtimestamp(int(configuration.loaded), UTC)
    return {
        "version": __version__,
        "sha512": configuration.digest,
        "files": list(configuration.files),
        "loaded": f"{loaded:%Y-%m-%dT%H:%M:%SZ}",
        "servers": [{"address": address, "zones": zones} for address, zones in _servers(sites).items()],
    }


def _servers(sites: Iterable[Site]) -> dict[str, list[str]]:
    """Zones by listen address, such as `dns://:53`, in file order and each once: blocks with views share them."""
    servers: dict[str, dict[str, None]] = {}
    for site in sites:
        for address, zone in zip(site.addresses, site.zones, strict=True):
            for host in site.bind or [""]:
                where = f"{address.scheme}://{join_host_port(host, address.port)}"
                servers.setdefault(where, {})[names.to_text(zone)] = None
    return {where: list(zones) for where, zones in servers.items()}
