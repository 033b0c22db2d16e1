"""Corefile -> Plan: every directive's `setup` in the fixed order, chains linked, servers filled. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from waypost.control.catalogue import Catalogue, absent
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile, ServerBlock, Token
from waypost.corefile.zones import ZoneAddress, parse_label
from waypost.dispatch.handler import ChangeFeed
from waypost.dispatch.memo import Memo
from waypost.dispatch.serve import Server
from waypost.dispatch.site import Services, Site
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits, TlsSettings
from waypost.listeners.schemes import DATAGRAM_SCHEMES, check_certificate, check_installed
from waypost.listeners.sockets import WILDCARDS

BUILT_IN = Catalogue()
_DNS_PORT = "53"
OBSERVERS = frozenset(
    ("debug", "dnstap", "errors", "health", "log", "loop", "pprof", "prometheus", "ready", "reload", "trace", "waypost")
)
"""Directives that watch, tell or listen, and change no answer that can be kept."""
# Errors of this directive carry no `plugin/NAME: `.
_BARE = frozenset(("on",))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One listen address. An empty host is unbound."""

    scheme: str
    host: str
    port: str


@dataclass(frozen=True, slots=True)
class Listen:
    """An address of the command line: what blocks without `bind` listen on, and the port of those on port 53."""

    host: str
    port: str

    def move(self, addresses: tuple[ZoneAddress, ...]) -> tuple[ZoneAddress, ...]:
        """The labels of a block with port 53 exchanged."""
        return tuple(a._replace(port=self.port) if a.port == _DNS_PORT else a for a in addresses)


@dataclass(slots=True)
class Plan:
    """A configuration that is set up but not started."""

    sites: list[Site] = field(default_factory=list)
    servers: dict[Endpoint, Server] = field(default_factory=dict)
    timeouts: dict[Endpoint, Timeouts] = field(default_factory=dict)
    limits: dict[Endpoint, Limits] = field(default_factory=dict)
    tls: dict[Endpoint, TlsSettings] = field(default_factory=dict)
    sockets: dict[Endpoint, int] = field(default_factory=dict)
    """How many sockets an address has (of each family and transport)."""

    @property
    def workers(self) -> int:
        """How many processes are asked for: as many as an address has sockets."""
        return max(self.sockets.values(), default=1)


class Report(Protocol):
    """Follows a set-up, and decides whether an error ends it."""

    def at(self, token: Token) -> None:
        """What is set up next stands here."""
        ...

    def error(self, error: CorefileError) -> None:
        """Raise the error, or note it: the rest is set up then, without what has it."""
        ...


class FirstError:
    """The first error is the last."""

    def at(self, token: Token) -> None:
        """Nothing is told of places."""

    def error(self, error: CorefileError) -> None:
        """Raises it."""
        raise error


def build(
    corefile: Corefile,
    port: str,
    services: Services,
    catalogue: Catalogue = BUILT_IN,
    listen: Listen | None = None,
    report: Report | None = None,
) -> Plan:
    """Set up every plugin of every block. Raises CorefileError, or what `report` raises; nothing was started then."""
    plan = Plan()
    report = report or FirstError()
    blocks = []
    for block in corefile.blocks:
        addresses = tuple(address for label in block.labels for address in _addresses(label, port, report))
        if addresses:
            if listen is not None:
                addresses = listen.move(addresses)
            site = Site(addresses, services, services.log, words=_words(block))
            site.peers = plan.sites
            plan.sites.append(site)
            blocks.append((block, site))
    _set_up(blocks, catalogue, report)
    for block, site in blocks:
        site.link()
        if listen is not None and not site.bind:
            site.bind = [listen.host]
        report.at(block.labels[0])
        _place(plan, site, services, report)
    labels = {id(site): block.labels[0] for block, site in blocks}
    _check_overlap(plan, labels, report)
    _check_sockets(plan, labels, report)
    _check_tls(plan, labels, report)
    for server in plan.servers.values():
        _follow_changes(server, services)
    return plan


def _words(block: ServerBlock) -> tuple[tuple[str, ...], ...]:
    """What the block says that shapes answers, without the places where it stands."""
    shaping = (directive for directive in block.directives if directive.name not in OBSERVERS)
    return tuple(sorted(tuple(token.text for token in directive.tokens) for directive in shaping))


def _addresses(label: Token, port: str, report: Report) -> list[ZoneAddress]:
    if not label.text:
        return []
    report.at(label)
    try:
        addresses = parse_label(label.text, port)
    except CorefileError as exc:
        report.error(exc)
        return []
    for scheme in dict.fromkeys(address.scheme for address in addresses):
        try:
            check_installed(scheme)
        except CorefileError as exc:
            report.error(CorefileError.at(label, exc.text))
    return addresses


def _set_up(blocks: list[tuple[ServerBlock, Site]], catalogue: Catalogue, report: Report) -> None:
    """Directive by directive in the fixed order, and each of them block by block."""
    directives = [({directive.name: directive for directive in block.directives}, site) for block, site in blocks]
    for name in catalogue.order:
        prefix = "" if name in _BARE else f"plugin/{name}: "
        for by_name, site in directives:
            directive = by_name.get(name)
            if directive is None:
                continue
            report.at(directive.tokens[0])
            plugin = catalogue.load(name)
            if plugin is None:
                report.error(CorefileError.at(directive.tokens[0], absent(name)))
                continue
            site.log = site.services.log.for_plugin(name)
            try:
                plugin.setup(directive, site)
            except CorefileError as exc:
                error = exc.with_prefix(prefix)
                error.__cause__ = exc
                report.error(error)


def _place(plan: Plan, site: Site, services: Services, report: Report) -> None:
    """Put the block's zones on its listen addresses."""
    seen: set[tuple[Endpoint, bytes]] = set()
    for address, zone in zip(site.addresses, site.zones, strict=True):
        for host in site.bind or [""]:
            endpoint = Endpoint(address.scheme, host, address.port)
            server = plan.servers.get(endpoint)
            if server is None:
                server = Server(address.scheme, host, address.port, services.log, services.metrics)
                plan.servers[endpoint] = server
                # A QUIC connection may come from another address at any time: all its packets must reach one process.
                plan.sockets[endpoint] = 1 if endpoint.scheme in DATAGRAM_SCHEMES else site.sockets
            plain = not site.filters
            if (endpoint, zone) in seen or (plain and _has_plain(server, zone)):
                where = f" on {host}" if host else ""
                text = f"cannot serve {address.scheme}://{address.zone}:{address.port}{where} - it is already defined"
                report.error(CorefileError.unlocated(text))
                continue
            seen.add((endpoint, zone))
            server.add(zone, site)
            if server not in site.servers:
                site.servers.append(server)
            if site.timeouts is not None:
                plan.timeouts[endpoint] = site.timeouts
            if site.tls is not None and endpoint.scheme != "dns":
                plan.tls.setdefault(endpoint, site.tls)
            if endpoint.scheme in site.limits:
                plan.limits.setdefault(endpoint, site.limits[endpoint.scheme])


def _has_plain(server: Server, zone: bytes) -> bool:
    return any(not other.filters for other in server.zones.sites(zone))


def _follow_changes(server: Server, services: Services) -> None:
    """Let a server's memos hear of every change in the data of its blocks, and count before each scrape."""
    services.hooks.active.append(partial(_count, server, services))
    handlers = (handler for site in server.zones.all_sites() for handler in site.all_handlers())
    for feed in {id(handler): handler for handler in handlers if isinstance(handler, ChangeFeed)}.values():
        services.hooks.active.append(partial(_subscribe, server, feed, services))


def _count(server: Server, services: Services) -> None:
    scraped = services.metrics.before_scrape
    for memo in server.memos:
        scraped.insert(0, memo.fold)  # others fold what it counts
        services.hooks.stop += [memo.fold, partial(scraped.remove, memo.fold)]


def _subscribe(server: Server, feed: ChangeFeed, services: Services) -> None:
    for memo in server.memos:
        memo.changed(None, feed.version, feed)
        services.hooks.stop.append(feed.subscribe(partial(_tell, memo, feed)))


def _tell(memo: Memo, feed: ChangeFeed, keys: Sequence[bytes] | None) -> None:
    memo.changed(keys, feed.version, feed)


def _check_overlap(plan: Plan, labels: Mapping[int, Token], report: Report) -> None:
    """One zone and port both bound and unbound would make two sockets compete for its packets."""
    unbound = {(e.scheme, e.port): server for e, server in plan.servers.items() if not e.host}
    for endpoint, server in plan.servers.items():
        other = unbound.get((endpoint.scheme, endpoint.port))
        if not endpoint.host or other is None:
            continue
        for site in server.zones.all_sites():
            for address, zone in zip(site.addresses, site.zones, strict=True):
                if address.port == endpoint.port and other.zones.sites(zone):
                    name = f"{endpoint.scheme}://{address.zone}:{endpoint.port}"
                    text = f"cannot serve {name} on {endpoint.host} - zone overlap listener capacity with {name}"
                    report.at(labels[id(site)])
                    report.error(CorefileError.unlocated(text))


def _check_sockets(plan: Plan, labels: Mapping[int, Token], report: Report) -> None:
    """Listeners of one socket would take each other's packets, unless they serve the same (`bind 0.0.0.0 ::`)."""
    holders: dict[tuple[str, str, str], Endpoint] = {}
    networks = {"dns": ("udp", "tcp"), **dict.fromkeys(DATAGRAM_SCHEMES, ("udp",))}
    places = ((endpoint, network) for endpoint in plan.servers for network in networks.get(endpoint.scheme, ("tcp",)))
    for endpoint, network in places:
        server = plan.servers[endpoint]
        host = "" if endpoint.host in WILDCARDS else endpoint.host
        holder = holders.setdefault((network, host, endpoint.port), endpoint)
        if endpoint.scheme != holder.scheme or _blocks(server) != _blocks(plan.servers[holder]):
            text = f"cannot serve {server.label} - {plan.servers[holder].label} listens there with other zones"
            for site in server.zones.all_sites()[:1]:
                report.at(labels[id(site)])
            report.error(CorefileError.unlocated(text))


def _check_tls(plan: Plan, labels: Mapping[int, Token], report: Report) -> None:
    """QUIC is never clear text, and its library asks no client for a certificate."""
    for endpoint, server in plan.servers.items():
        if endpoint.scheme not in DATAGRAM_SCHEMES:
            continue
        tls = plan.tls.get(endpoint)
        if tls is None:
            text = f"{server.label} has no certificate: expected `tls CERT KEY` in the block"
        elif tls.checks_clients:
            text = f"{server.label} cannot ask clients for certificates: expected `client_auth nocert` over QUIC"
        else:
            text = _unusable(endpoint.scheme, tls)
        if text:
            for site in server.zones.all_sites()[:1]:
                report.at(labels[id(site)])
            report.error(CorefileError.unlocated(text))


def _unusable(scheme: str, tls: TlsSettings) -> str:
    try:
        check_certificate(scheme, tls)
    except CorefileError as exc:
        return exc.text
    return ""


def _blocks(server: Server) -> dict[bytes, list[int]]:
    return {zone: [id(site) for site in server.zones.sites(zone)] for zone in server.zones.zones()}
