"""A cache in front of a source that a test scripts, on a clock that a test moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import dns.flags
import dns.message
import dns.name
import dns.rrset

from support.chain import FakeProcess, make_directive, make_request
from waypost.dispatch.handler import Handler, Outcome, settled
from waypost.dispatch.request import Request
from waypost.dispatch.site import Services
from waypost.plugins.cache.config import parse
from waypost.plugins.cache.handler import Cache
from waypost.plugins.cache.keep import Keeper
from waypost.plugins.cache.metrics import Meters
from waypost.plugins.cache.store import Store
from waypost.toolkit.zonelist import zones_of
from waypost.wire import consts, fit, message
from waypost.wire.record import Record, Records
from waypost.wire.reply import Reply

Answer = Callable[[Request], Reply]
SOA = "example.org. {ttl} IN SOA ns.example.org. admin.example.org. 1 7200 3600 86400 {minimum}"
SERVER = "dns://:53"


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Source:
    """Answers with what `answer` says of the request; with `later`, only when `release` is called."""

    name = "source"
    next: Handler

    def __init__(self) -> None:
        self.answer: Answer = positive
        self.later = False
        self.seen: list[Request] = []
        self._gate = asyncio.Event()

    def serve(self, request: Request) -> Outcome:
        self.seen.append(request)
        return self._wait(request) if self.later else self.answer(request)

    async def _wait(self, request: Request) -> Reply:
        await self._gate.wait()
        return self.answer(request)

    def release(self) -> None:
        """Let everything that waits be answered; what comes after waits again."""
        self._gate.set()
        self._gate = asyncio.Event()


class Rig:
    """A `cache` line, its source, its clock and its metrics."""

    def __init__(self, text: str = "cache", zones: tuple[str, ...] = (".",)) -> None:
        config = parse(make_directive(text))
        self.clock = Clock()
        self.wall = Clock()
        self.wall.now = 1_700_000_000.0
        self.source = Source()
        self.process = FakeProcess()
        self.store = Store(config, random.Random(1))
        self.keeper = Keeper(config, self.store, now=self.clock, wall=self.wall)
        meters = Meters(self.process.metrics)
        services: Services = self.process.services()
        self.cache = Cache(
            config,
            zones_of(config.zones or zones, ()),
            self.keeper,
            lambda server: meters.cells(server, ".", ""),
            services.log,
        )
        self.cache.next = self.source

    def outcome(self, request: Request) -> Outcome:
        return self.cache.serve(request)

    def ask(self, name: str = "www.example.org.", qtype: str = "A", **flags: bool) -> Reply:
        """What a client gets from a source that answers at once."""
        outcome = self.cache.serve(request_with(name, qtype, **flags))
        assert isinstance(outcome, Reply), outcome
        return outcome

    async def ask_later(self, name: str = "www.example.org.", qtype: str = "A", **flags: bool) -> Reply:
        """What a client gets in the end."""
        return await settled(self.cache.serve(request_with(name, qtype, **flags)))

    @property
    def asked(self) -> int:
        """How often the source was asked."""
        return len(self.source.seen)

    def metric(self, name: str, *labels: str) -> float:
        """A cell's value; labels between server and zones."""
        family = self.process.metrics.families[name]
        return family.cell((SERVER, *labels, ".", "")).value  # type: ignore[union-attr]


def request_with(
    name: str = "www.example.org.",
    qtype: str = "A",
    *,
    rd: bool = True,
    cd: bool = False,
    ad: bool = False,
    do: bool = False,
    edns: bool = False,
    tcp: bool = False,
    qclass: str = "IN",
) -> Request:
    """A request with these header bits."""
    query = dns.message.make_query(name, qtype, qclass)
    query.flags = dns.flags.Flag(0)
    for wanted, flag in ((rd, dns.flags.RD), (cd, dns.flags.CD), (ad, dns.flags.AD)):
        if wanted:
            query.flags |= flag
    if do or edns:
        query.use_edns(0, dns.flags.DO if do else 0, 1232)
    return make_request(wire=query.to_wire(), datagram=not tcp)


def records(*lines: str) -> Records:
    """Records in zone file notation: `NAME TTL CLASS TYPE DATA`."""
    out: list[Record] = []
    for line in lines:
        owner, ttl, rclass, rtype, data = line.split(maxsplit=4)
        rrset = dns.rrset.from_text(owner, int(ttl), rclass, rtype, data)
        carrier = dns.message.Message()
        carrier.answer.append(rrset)
        out += message.decode(carrier.to_wire()).answer
    return tuple(out)


def reply(
    request: Request,
    *answer: str,
    rcode: int = consts.NOERROR,
    flags: int = consts.RA,
    authority: tuple[str, ...] = (),
    additional: tuple[str, ...] = (),
) -> Reply:
    """A reply as forward gives it: `@` stands for the name as asked, RD and CD are copied."""
    owner = dns.name.from_wire(request.query.wire, 12)[0].to_text()

    def made(lines: tuple[str, ...]) -> Records:
        return records(*(line.replace("@", owner) for line in lines))

    bits = request.query.flags & consts.COPIED
    return Reply(rcode, flags | bits, made(answer), made(authority), made(additional))


def positive(request: Request, ttl: int = 300, address: str = "192.0.2.1", flags: int = consts.RA) -> Reply:
    """One A record."""
    return reply(request, f"@ {ttl} IN A {address}", flags=flags)


def nxdomain(request: Request, ttl: int = 300, minimum: int = 300) -> Reply:
    """NXDOMAIN with SOA."""
    return reply(request, rcode=consts.NXDOMAIN, authority=(SOA.format(ttl=ttl, minimum=minimum),))


def servfail(request: Request) -> Reply:
    """A SERVFAIL that the source wrote."""
    return reply(request, rcode=consts.SERVFAIL)


def ttls(answer: Reply) -> set[int]:
    """The TTLs of all records."""
    return {record.ttl for section in (answer.answer, answer.authority, answer.additional) for record in section}


def address_of(answer: Reply) -> str:
    """The first A record's address in text."""
    return ".".join(map(str, answer.answer[0].rdata))


def decoded(request: Request, answer: Reply) -> dns.message.Message:
    """What the client would read."""
    return dns.message.from_wire(fit.pack(request.query, answer, datagram=request.datagram))
