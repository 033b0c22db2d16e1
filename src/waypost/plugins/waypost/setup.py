"""The `waypost` directive to hooks; it has no part in a chain. What it says holds for every block."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site, everywhere
from waypost.httpd.server import HttpServer, lend_server
from waypost.httpd.socket import ListenError
from waypost.log import Log
from waypost.plugins.waypost.admin import Admin
from waypost.plugins.waypost.config import parse


@runtime_checkable
class Following(Protocol):
    """A plugin whose source may fall silent."""

    def limit_silence(self, seconds: float) -> bool:
        """Not be ready after a longer silence than this; False if there is nothing that could be silent."""
        ...


def setup(directive: Directive, site: Site) -> None:
    """Register hooks. Raises CorefileError."""
    config = parse(directive)
    log = site.log
    for warning in config.warnings:
        log.warning(warning)
    if config.max_udp_size:
        for peer in site.peers:
            peer.max_udp_size = min(peer.max_udp_size, config.max_udp_size)
    if config.ready_max_age:
        site.hooks.start.append(lambda: _limit_silence(site, config.ready_max_age, log))
    if config.admin:
        server = lend_server(site.services.lender, config.admin, log)
        admin = Admin(server, site)
        site.hooks.start.append(everywhere(lambda: _listen(server, log)))
        site.hooks.active.append(everywhere(admin.open))
        site.hooks.stop.append(everywhere(admin.close))


def _limit_silence(site: Site, seconds: float, log: Log) -> None:
    handlers = [handler for peer in site.peers for handler in peer.all_handlers()]
    limited = [handler.limit_silence(seconds) for handler in handlers if isinstance(handler, Following)]
    if not any(limited):
        log.warning("ready_max_age has no effect: no block follows a Kubernetes API")


async def _listen(server: HttpServer, log: Log) -> None:
    """DNS is served without it, if it cannot."""
    try:
        await server.start()
    except ListenError as exc:
        log.error(f"Failed to start admin server: {exc}")
