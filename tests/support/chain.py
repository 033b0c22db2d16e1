"""What a plugin stands between, made by hand: a request, a next plugin, a server block and its directive."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar

import dns.flags
import dns.message

from support.corefiles import DictReader
from waypost.corefile.model import Directive
from waypost.corefile.parser import parse
from waypost.corefile.zones import parse_label
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Address, Request
from waypost.dispatch.serve import Server
from waypost.dispatch.site import Hook, Hooks, Services, Site
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.plugins.log.lines import Lines
from waypost.plugins.order import ORDER
from waypost.wire.query import parse_query
from waypost.wire.reply import Reply

T = TypeVar("T")


def make_wire(
    name: str = "example.org.",
    qtype: str = "A",
    *,
    qclass: str = "IN",
    rd: bool = True,
    bufsize: int | None = None,
    do: bool = False,
    options: tuple[dns.edns.Option, ...] = (),
) -> bytes:
    """A query as dnspython packs it; EDNS only if one of the last three is given."""
    message = dns.message.make_query(name, qtype, qclass)
    message.flags = dns.flags.RD if rd else dns.flags.Flag(0)
    if bufsize is not None or do or options:
        message.use_edns(0, dns.flags.DO if do else 0, bufsize or 1232, options=list(options))
    return message.to_wire()


def make_request(
    name: str = "example.org.",
    qtype: str = "A",
    *,
    wire: bytes | None = None,
    client: Address = ("192.0.2.9", 40000),
    datagram: bool = True,
    host: str = "",
    site: Site | None = None,
    qclass: str = "IN",
    rd: bool = True,
    bufsize: int | None = None,
    do: bool = False,
) -> Request:
    """A request for `name`, or for the packet `wire`, at a server `dns://HOST:53`."""
    packet = wire or make_wire(name, qtype, qclass=qclass, rd=rd, bufsize=bufsize, do=do)
    server = Server("dns", host, "53", Log(io.StringIO()), Registry())
    request = Request(parse_query(packet), client, server, datagram, time.perf_counter())
    request.site = site
    return request


class FakeNext:
    """The next plugin: gives one reply, at once or later, and remembers what it was asked."""

    next: Handler

    def __init__(self, reply: Reply, *, later: bool = False, name: str = "fake") -> None:
        self.name = name
        self.reply = reply
        self.later = later
        self.seen: list[Request] = []

    def serve(self, request: Request) -> Outcome:
        self.seen.append(request)
        return self._wait() if self.later else self.reply

    async def _wait(self) -> Reply:
        return self.reply


@dataclass
class FakeLender:
    """Lends without counting."""

    lent: dict[Hashable, object] = field(default_factory=dict)

    def lend(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self.lent:
            self.lent[key] = make()
        return self.lent[key]  # type: ignore[return-value]


@dataclass
class FakeProcess:
    """What the process gives to every plugin; `exits` and `watches` are what plugins asked of it."""

    stream: io.StringIO = field(default_factory=io.StringIO)
    metrics: Registry = field(default_factory=Registry)
    lender: FakeLender = field(default_factory=FakeLender)
    exits: list[int] = field(default_factory=list)
    watches: list[tuple[float, float]] = field(default_factory=list)

    def services(self) -> Services:
        """Those of a new configuration."""
        return Services(
            Log(self.stream),
            self.metrics,
            self.lender,
            Hooks(),
            self.exits.append,
            lambda every, jitter: self.watches.append((every, jitter)),
        )

    @property
    def lines(self) -> list[str]:
        """What was logged, with what waits to be written."""
        for lent in self.lender.lent.values():
            if isinstance(lent, Lines):
                lent.flush()
        return self.stream.getvalue().splitlines()


def make_site(*labels: str, process: FakeProcess | None = None, services: Services | None = None) -> Site:
    """A server block with these labels (default `.:53`), its own only peer."""
    services = services or (process or FakeProcess()).services()
    addresses = [address for label in labels or (".",) for address in parse_label(label, "53")]
    site = Site(tuple(addresses), services, services.log)
    site.peers.append(site)
    return site


def make_directive(text: str) -> Directive:
    """The first directive of a block that holds `text`; its first line is line 2."""
    corefile = parse(f". {{\n{text}\n}}", "Corefile", env={}, known=ORDER, read=DictReader())
    return corefile.blocks[0].directives[0]


async def run(hooks: list[Hook]) -> None:
    """Run hooks one by one."""
    for hook in hooks:
        waiting = hook()
        if waiting is not None:
            await waiting
