"""ready: an endpoint that says whether every plugin can serve.

ready [ADDRESS] {
    monitor until-ready|continuously
}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.handler import Ready
from waypost.dispatch.site import Hooks, Site, everywhere
from waypost.httpd.join import ALL_WELL
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer, check_address, lend_server
from waypost.httpd.socket import ListenError
from waypost.log import Log

PATH: Final = "/ready"
_DEFAULT_ADDRESS: Final = ":8181"
_UNTIL_READY: Final = "until-ready"
_CONTINUOUSLY: Final = "continuously"
_OK: Final = plain(200, "OK")


@runtime_checkable
class Fresh(Protocol):
    """A plugin whose source may fall silent. It is asked every time, in whatever block it is."""

    def fresh(self) -> bool:
        """False if the source was silent for longer than the configuration allows."""
        ...


@dataclass(frozen=True, slots=True)
class Config:
    """Where to listen, whether to go on asking plugins that were ready once, and properties nobody knows."""

    address: str = _DEFAULT_ADDRESS
    continuously: bool = False
    unknown: tuple[str, ...] = ()


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    if len(args) > 1:
        raise cursor.arg_err()
    address = args[0] if args else _DEFAULT_ADDRESS
    try:
        check_address(address)
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
    continuously = False
    unknown = []
    for option, values in cursor.options():
        if option != "monitor":
            unknown.append(option)
        elif len(values) != 1:
            raise cursor.arg_err()
        elif values[0] not in (_UNTIL_READY, _CONTINUOUSLY):
            raise cursor.err(f"monitor type '{values[0]}' not supported")
        else:
            continuously = values[0] == _CONTINUOUSLY
    if cursor.next():
        raise CorefileError.unlocated("this plugin can only be used once per Server Block")
    return Config(address, continuously, tuple(unknown))


def setup(directive: Directive, site: Site) -> None:
    """Listen at start, answer for the block's plugins once live, and close at the end of the process."""
    config = parse(directive)
    for option in config.unknown:  # CoreDNS took any until 1.14
        site.log.warning(f"unknown property '{option}' has no effect")
    services = site.services
    server = lend_server(services.lender, config.address, services.log)
    readiness = services.lender.lend(("ready", config.address), lambda: Readiness(server, site.log))
    site.hooks.start.append(everywhere(readiness.start))
    site.hooks.active.append(everywhere(lambda: readiness.add(Block(site, config.continuously), site.hooks)))
    site.hooks.final.append(readiness.close)
    site.hooks.stop.append(everywhere(lambda: readiness.drop(site.hooks)))


class Block:
    """The plugins of one server block that can be asked, asked until they were ready once or every time.

    With them goes what any block knows of sources that fell silent.
    """

    __slots__ = ("_continuously", "_following", "_waiting")

    def __init__(self, site: Site, continuously: bool) -> None:
        self._continuously = continuously
        self._waiting = [(h.name, h) for h in site.all_handlers() if isinstance(h, Ready)]
        self._following = [h for peer in site.peers for h in peer.all_handlers() if isinstance(h, Fresh)]

    def not_ready(self) -> set[str]:
        """Names of the plugins that cannot serve."""
        unready = [(name, handler) for name, handler in self._waiting if not handler.ready()]
        if not self._continuously:
            self._waiting = unready
        silent = {handler.name for handler in self._following if not handler.fresh()}
        return silent | {name for name, _ in unready}


class Readiness:
    """What is asked at one address: the blocks of the configuration that serves, and of no other."""

    __slots__ = ("_blocks", "_log", "_owner", "_server")

    def __init__(self, server: HttpServer, log: Log) -> None:
        self._server = server
        self._log = log
        self._owner: Hooks | None = None
        self._blocks: list[Block] = []

    async def start(self) -> None:
        """Listen; the server runs without, if it cannot."""
        try:
            await self._server.start()
        except ListenError as exc:
            self._log.error(f"Failed to start ready server: {exc}")

    def add(self, block: Block, owner: Hooks) -> None:
        """Ask this block too. The first one of another configuration replaces all there were."""
        if self._owner is not owner:
            self._owner = owner
            self._blocks = []
        self._blocks.append(block)
        self._server.set_route(PATH, self.answer, ALL_WELL)

    def drop(self, owner: Hooks) -> None:
        """Ask nobody any more, unless another configuration has taken over."""
        if self._owner is owner:
            self._owner = None
            self._blocks = []
            self._server.remove_route(PATH, self.answer)

    async def close(self) -> None:
        """Refuse connections, so that nobody takes us for ready; a `health` on the same address stays."""
        self._server.remove_route(PATH, self.answer)
        if not self._server.routes:
            await self._server.close()

    def answer(self, request: HttpRequest) -> HttpResponse:
        """OK, or the names of the plugins that are not ready."""
        waiting = ",".join(sorted(set().union(*(block.not_ready() for block in self._blocks))))
        if not waiting:
            return _OK
        self._log.once_a_burst(self._log.info, f"Plugins not ready: {quote(waiting)}")
        return plain(503, waiting)
