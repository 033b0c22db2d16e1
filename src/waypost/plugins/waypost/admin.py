"""The admin endpoint: which configuration runs, what the caches hold, dropping it, and how a query is answered.

    GET  /config                               POST /cache/flush?name=NAME | ?zone=ZONE
    GET  /cache?name=NAME | ?zone=ZONE [&limit=N]
    POST /explain?name=NAME [&type=TYPE] [&client=IP] [&transport=udp|tcp] [&offline=true]

Whoever can reach the address may use it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from waypost.dispatch.explain import explain, plain_server
from waypost.dispatch.handler import CacheAdmin
from waypost.dispatch.site import Site
from waypost.httpd.join import FIRST, Joint
from waypost.httpd.message import HttpHandler, HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer
from waypost.plugins.waypost.arguments import BadArgument, Selection, Wanted, arguments, limit, selection, wanted
from waypost.plugins.waypost.facts import facts
from waypost.plugins.waypost.joined import FLUSHES, LISTINGS, TOTAL, as_json
from waypost.plugins.waypost.listing import listing

Answer = Callable[[dict[str, str]], HttpResponse | Awaitable[HttpResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """The methods and parameters of a path, and what makes the response: BadArgument comes when it is called.

    `join` is for what several processes answer; without it any of them knows as much as all.
    """

    methods: tuple[str, ...]
    parameters: tuple[str, ...]
    answer: Answer
    join: Joint | None = None


class Admin:
    """Answers for the configuration of `site`, from `open` to `close`."""

    def __init__(self, server: HttpServer, site: Site) -> None:
        self._server = server
        self._site = site
        self._caches: list[CacheAdmin] = []
        read = ("GET", "HEAD")
        self._routes = {
            "/config": Route(read, (), self._config),
            "/cache": Route(read, ("name", "zone", "limit"), self._list, LISTINGS),
            "/explain": Route(("POST",), ("name", "type", "client", "transport", "offline"), self._explain, FIRST),
            "/cache/flush": Route(("POST",), ("name", "zone"), self._flush, FLUSHES),
        }
        self._handlers: dict[str, HttpHandler] = {path: partial(_answer, route) for path, route in self._routes.items()}

    def open(self) -> None:
        """Take the paths over: the chains are complete now."""
        handlers = [handler for peer in self._site.peers for handler in peer.all_handlers()]
        self._caches = [handler for handler in handlers if isinstance(handler, CacheAdmin)]
        for path, handler in self._handlers.items():
            self._server.set_route(path, handler, self._routes[path].join)

    def close(self) -> None:
        """Give them back, unless a successor has them."""
        for path, handler in self._handlers.items():
            self._server.remove_route(path, handler)

    def _config(self, given: dict[str, str]) -> HttpResponse:
        return as_json(facts(self._site.services.configuration, self._site.peers))

    def _list(self, given: dict[str, str]) -> Awaitable[HttpResponse]:
        return self._listed(selection(given), limit(given))

    async def _listed(self, chosen: Selection, count: int) -> HttpResponse:
        rows, total = await listing(self._caches, chosen, count)
        return as_json(rows, (TOTAL, str(total)))

    def _explain(self, given: dict[str, str]) -> Awaitable[HttpResponse]:
        return self._explained(wanted(given))

    async def _explained(self, asked: Wanted) -> HttpResponse:
        server = plain_server(server for peer in self._site.peers for server in peer.servers)
        if server is None:
            return plain(404, "no server block serves plain DNS\n")
        told = await explain(server, asked.wire, asked.client, datagram=asked.datagram, offline=asked.offline)
        return as_json(told.as_json())

    def _flush(self, given: dict[str, str]) -> HttpResponse:
        chosen = selection(given)
        return as_json({"flushed": sum(cache.flush(chosen.name, below=chosen.below) for cache in self._caches)})


def _answer(route: Route, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
    if request.method not in route.methods:
        allowed = ", ".join(route.methods)
        return plain(405, f"method {request.method} not allowed, expected {allowed}\n")._replace(
            headers=(("Allow", allowed),)
        )
    try:
        return route.answer(arguments(request, route.parameters))
    except BadArgument as exc:
        return plain(400, f"{exc}\n")
