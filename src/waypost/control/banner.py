"""What is printed at start: each zone with its listener, then the version."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

from waypost import __version__
from waypost.control.supervisor import Supervisor
from waypost.corefile.zones import is_preferred_syntax
from waypost.wire import names


def version_lines() -> list[str]:
    """Name and version, then platform and interpreter."""
    interpreter = f"python{'.'.join(map(str, sys.version_info[:3]))}"
    return [f"Waypost-{__version__}", f"{sys.platform}/{platform.machine()}, {interpreter}"]


def banner(supervisor: Supervisor) -> Iterator[str]:
    """The lines of a start: `SCHEME://ZONE:PORT[ on IP]`, without a scheme for plain DNS, once for each socket."""
    instance = supervisor.instance
    servers = instance.plan.servers if instance is not None else {}
    sockets = instance.plan.sockets if instance is not None else {}
    for endpoint, server in servers.items():
        for zone in sorted(map(names.to_text, server.zones.zones())) * sockets[endpoint]:
            if not is_preferred_syntax(zone):
                yield f'Warning: Domain "{zone}" does not follow RFC1035 preferred syntax'
            scheme = "" if endpoint.scheme == "dns" else f"{endpoint.scheme}://"
            yield f"{scheme}{zone}:{endpoint.port}{f' on {endpoint.host}' if endpoint.host else ''}"
    yield from version_lines()
