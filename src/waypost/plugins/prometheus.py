"""prometheus: count queries and replies, and show every metric of the process to a Prometheus server.

prometheus [ADDRESS] {
    runtime_metrics
}
"""

from __future__ import annotations

import asyncio
import gzip
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from waypost import __version__
from waypost.corefile.addresses import join_host_port
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.serve import Server
from waypost.dispatch.site import Site, once
from waypost.httpd.message import HttpRequest, HttpResponse
from waypost.httpd.server import HttpServer, check_address, lend_server
from waypost.httpd.socket import ListenError
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.metrics.traffic import Meter, Traffic
from waypost.toolkit.sent import SERVER_WRITTEN
from waypost.wire import consts, names
from waypost.wire.fit import reply_size
from waypost.wire.query import Query
from waypost.wire.reply import Reply

if TYPE_CHECKING:
    from waypost.metrics.expose import Exposition

PATH: Final = "/metrics"
_DEFAULT_ADDRESS: Final = "localhost:9153"
_GZIP_LEVEL: Final = 1
_NAME: Final = "prometheus"


@dataclass(frozen=True, slots=True)
class Config:
    """Where to show metrics; `runtime` adds those of Python's garbage collector."""

    address: str = _DEFAULT_ADDRESS
    runtime: bool = False


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
    runtime = False
    for option, values in cursor.options():
        if option == "tls":
            raise cursor.err("tls is not supported yet")
        if option != "runtime_metrics":
            raise cursor.err(f"unknown option: {option}")
        if values:
            raise cursor.arg_err()
        runtime = True
    if cursor.next():
        raise CorefileError.unlocated("this plugin can only be used once per Server Block")
    return Config(address, runtime)


def setup(directive: Directive, site: Site) -> None:
    """Count in the chain, listen at start, show metrics once live."""
    config = parse(directive)
    server = lend_server(site.services.lender, config.address, site.services.log)
    endpoint = Endpoint(server, site.metrics, site.log, runtime=config.runtime)
    _set_build_info(site.metrics)
    site.hooks.start.append(once(endpoint.start))
    site.hooks.active += [once(endpoint.activate), once(lambda: _set_enabled(site))]
    site.hooks.stop.append(once(endpoint.stop))
    site.add(Prometheus(site))


def _set_build_info(metrics: Registry) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    labels = ("version", "revision", "goversion")
    info = metrics.gauge("coredns_build_info", "A metric with a constant '1' value labeled by version.", labels)
    info.labels(__version__, "", f"python{version}").set(1)


def _set_enabled(site: Site) -> None:
    """Name the plugins of every block that has `prometheus`, once a configuration: its first such block does it."""
    counted = [peer for peer in site.peers if _NAME in peer.handlers]
    if counted[0] is not site:
        return
    labels = ("server", "zone", "view", "name")
    enabled = site.metrics.gauge(
        "coredns_plugin_enabled", "A metric that indicates whether a plugin is enabled.", labels
    )
    enabled.family.clear()
    for peer in counted:
        scheme, zone, port = peer.addresses[0]
        for host in peer.bind or [""]:
            for name in peer.handlers:
                enabled.labels(f"{scheme}://{join_host_port(host, port)}", zone, peer.view, name).set(1)


class Prometheus:
    """Counts what came in and what goes out; the reply goes on unchanged."""

    __slots__ = ("_meters", "_only", "_site", "_traffic", "_zones", "name", "next")

    transparent = True
    next: Handler

    def __init__(self, site: Site) -> None:
        self.name = _NAME
        self._site = site  # its view is known only once every plugin is set up
        self._traffic = site.metrics.shared(Traffic)
        self._zones = sorted(((zone, names.to_text(zone)) for zone in site.zones), key=lambda pair: -len(pair[0]))
        self._meters: dict[tuple[str, str], Meter] = {}
        self._only: dict[Server, Meter] = {}

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        if request.trace is not None:  # nobody's query: it is explained
            return self.next.serve(request)
        query = request.query  # as the client sent it: a plugin further on may replace it
        outcome = self.next.serve(request)
        if type(outcome) is Reply:
            self._record(request, query, outcome)
            return outcome
        return then(outcome, partial(self._recorded, request, query))

    def _recorded(self, request: Request, query: Query, reply: Reply) -> Reply:
        self._record(request, query, reply)
        return reply

    def _record(self, request: Request, query: Query, reply: Reply) -> None:
        written = reply.written
        if written:
            rcode, size = reply.rcode, reply_size(query, reply)
        else:  # the server's own answer, or silence, which counts as NOERROR
            rcode, size = (reply.rcode if reply.rcode in SERVER_WRITTEN else consts.NOERROR), 0
        server = request.server
        meter = self._only.get(server) or self._meter(server, query.name)
        seconds = time.perf_counter() - request.received
        kind = meter.count(query, request.datagram, ":" in request.client[0], rcode, written, size, seconds)
        if request.repeats is not None:
            request.repeats.append(meter.repeat(kind))

    def _meter(self, server: Server, name: bytes) -> Meter:
        """The meter of the zone that a name is in; with one zone it is the server's only one."""
        if len(self._zones) == 1:
            meter = self._make_meter(server, self._zones[0][1])
            self._only[server] = meter
            return meter
        zone = self._longest(name)
        meter = self._meters.get((server.label, zone)) or self._make_meter(server, zone)
        self._meters[server.label, zone] = meter
        return meter

    def _make_meter(self, server: Server, zone: str) -> Meter:
        return self._traffic.meter(server.label, zone, self._site.view, self.next.name)

    def _longest(self, name: bytes) -> str:
        return next((text for zone, text in self._zones if names.is_within(name, zone)), ".")


class Endpoint:
    """Shows the metrics at one address; without it, if the address cannot be had, the server runs all the same."""

    __slots__ = ("_exposition", "_log", "_metrics", "_runtime", "_server")

    def __init__(self, server: HttpServer, metrics: Registry, log: Log, *, runtime: bool) -> None:
        self._server = server
        self._metrics = metrics
        self._runtime = runtime
        self._exposition: Exposition | None = None
        self._log = log

    async def start(self) -> None:
        """Listen."""
        try:
            await self._server.start()
        except ListenError as exc:
            self._log.error(f"Failed to start metrics handler: {exc}")

    def activate(self) -> None:
        """Answer from now on."""
        self._server.set_route(PATH, self.answer)

    def stop(self) -> None:
        """Stop answering."""
        self._server.remove_route(PATH, self.answer)

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Every metric; compressed, away from the loop that answers queries, if the client can take it."""
        if self._exposition is None:  # no start waits for its library, and the first scrape keeps no query waiting
            self._exposition = await asyncio.to_thread(_exposition, self._metrics, runtime=self._runtime)
        from waypost.metrics.expose import CONTENT_TYPE, gzip_accepted

        text = await self._exposition.whole()
        if not gzip_accepted(request.headers.get("Accept-Encoding", "")):
            return HttpResponse(200, CONTENT_TYPE, text)
        packed = await asyncio.to_thread(gzip.compress, text, _GZIP_LEVEL)
        return HttpResponse(200, CONTENT_TYPE, packed, (("Content-Encoding", "gzip"),))


def _exposition(metrics: Registry, *, runtime: bool) -> Exposition:
    from waypost.metrics.expose import Exposition

    return Exposition(metrics, runtime=runtime)
