"""loop: find out at start, and time and again after it, whether queries come back to this server.

    loop {
        degrade
    }

A question for a name that nobody can guess is sent to the block's own address. It must not come by again and again.
At start a loop ends the process; later it only ends what would go round.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site, once
from waypost.dispatch.trace import ANSWERED
from waypost.toolkit.background import Background
from waypost.wire import consts, names
from waypost.wire.message import make_query
from waypost.wire.reply import failure

# The probe passes once by itself, and once more where a plugin asks the server again.
_HARMLESS: Final = 2
_PROBING: Final = 30.0
_PAUSE: Final = 1.0
_PATIENCE: Final = 2.0
# About every 30 s, but not in step with others: of two servers in one loop, the first to look again finds it cut.
_INTERVAL: Final = 27.0
_JITTER: Final = 6.0
_GUESSES: Final = 1 << 62
_LABELS_SIZE: Final = 2 * (1 + len(str(_GUESSES)))
_HELP: Final = "https://coredns.io/plugins/loop#troubleshooting"
_WILDCARDS: Final = {"": ("127.0.0.1", "::1"), "0.0.0.0": ("127.0.0.1",), "::": ("::1",)}
# Without a text: the log says it once, and not for each query.
_CUT: Final = failure(consts.SERVFAIL)
_BEGIN, _EXPECT, _END, _START = b"B", b"P", b"E", b"S"

Exchange = Callable[[bytes, str, int], Awaitable[None]]
"""Send a query to host and port over UDP; returns with the reply, raises OSError or TimeoutError without one."""


@dataclass(frozen=True, slots=True)
class Config:
    """Whether a loop at start is treated like a later one, where by default it ends the process."""

    degrade: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Where probes go, and the address as CoreDNS writes it."""

    zone: bytes
    hosts: tuple[str, ...]
    port: int
    text: str


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for count, args in enumerate(cursor.occurrences()):
        if count:
            raise CorefileError.unlocated("this plugin can only be used once per Server Block")
        if args:
            raise cursor.arg_err()
        for name, values in cursor.options():
            if name != "degrade":
                raise cursor.err(f"unknown property '{name}'")
            if values:
                raise cursor.arg_err()
            config = Config(degrade=True)
    return config


class Finding:
    """What is known of loops, also after a reload: that the process has started without one, and that there is one now.

    With workers the supervisor sends the probes, which come to any of them: it tells them, in one letter and a name.
    """

    __slots__ = ("_tell", "came_back", "looping", "lost", "probe", "seen", "started", "told", "version")

    def __init__(self) -> None:
        self.started = False
        self.looping = False
        self.probe = b""
        """The name that must not come by again and again, while its answer is waited for."""
        self.seen = 0
        self.came_back = False
        self.lost: Callable[[], None] = lambda: None
        """What to do when a loop is gone."""
        self.version = 0
        """How often that there is a loop, or none, was found out."""
        self.told: list[Callable[[Sequence[bytes] | None], None]] = []
        """Who wants to know, see `ChangeFeed`."""
        self._tell: Callable[[bytes], None] = lambda data: None

    def begin(self) -> None:
        """We look whether there is a loop."""
        self.came_back = False
        self._tell(_BEGIN)

    def expect(self, name: bytes) -> None:
        """A probe of this name is sent; with an empty one nothing is waited for any more."""
        self.probe, self.seen = name, 0
        self._tell(_EXPECT + name)

    def end(self) -> None:
        """We have looked: unless a probe `came_back`, there is no loop."""
        if self.looping and not self.came_back:
            self.turn(looping=False)
            self.lost()
        self._tell(_END)

    def turn(self, *, looping: bool) -> None:
        """There is a loop now, or none any more."""
        self.looping = looping
        self.version += 1
        for call in tuple(self.told):
            call(None)

    def start(self) -> None:
        """The process has started: a loop does not end it any more."""
        self.started = True
        self._tell(_START)

    def lead(self, tell: Callable[[bytes], None]) -> None:
        """Tell workers what is done here."""
        self._tell = tell

    def whole(self) -> Iterable[bytes]:
        """What a worker must know that begins now."""
        return [_EXPECT + self.probe, *([_START] if self.started else [])]

    def follow(self) -> None:
        """Somebody else sends the probes."""
        self._tell = lambda data: None

    def take(self, data: bytes) -> None:
        """The supervisor did this."""
        if data[:1] == _EXPECT:
            self.expect(data[1:])
        else:
            {_BEGIN: self.begin, _END: self.end, _START: self.start}[data]()


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; it probes once the configuration serves."""
    config = parse(directive)
    # Blocks of one address differ by their views.
    number = sum(peer.addresses == site.addresses for peer in takewhile(lambda peer: peer is not site, site.peers))
    finding = site.services.lender.lend(("loop", site.addresses, tuple(site.bind), number), Finding)
    loop = Loop(config, site, exchange, finding)
    site.add(loop)
    site.hooks.active.append(once(loop.start))
    site.hooks.stop.append(once(loop.stop))


class Loop:
    """Counts only questions for its own name, and only while it waits for the answer to it.

    The name is new for each try, so neither late copies of an old probe nor any guess counts (RFC 5452 section 4.3
    on guessing). While there is a loop, only probes are handed on: whatever else gets here would go round.
    """

    name = "loop"
    confined = True
    zones: tuple[bytes, ...] = ()
    next: Handler

    def __init__(self, config: Config, site: Site, exchange: Exchange, finding: Finding) -> None:
        self._degrade = config.degrade
        self._target = _target(site)
        self._log = site.log
        self._exit = site.services.exit
        self._exchange = exchange
        self._finding = finding
        text = "Whether the loop plugin has seen its own probe come back, by zone."
        self._detected = site.metrics.gauge("waypost_loop_detected", text, ("zone",)).labels(
            names.to_text(site.zones[0])
        )
        self._detected.set(int(finding.looping))
        finding.lost = self._lose
        self._work = Background()

    def serve(self, request: Request) -> Outcome:
        """Pass everything on, but the probe that has come round too often, and while there is a loop all else."""
        query = request.query
        if query.qtype == consts.TYPE_HINFO:  # each one counts
            request.repeats = None
        finding = self._finding
        if query.name == finding.probe and query.qtype == consts.TYPE_HINFO:
            finding.seen += 1
            if finding.seen > _HARMLESS:
                self._find(request)
                return _CUT
        elif finding.looping:
            request.note(self.name, "queries come back to this server, so nothing is forwarded", ANSWERED)
            return _CUT
        return self.next.serve(request)

    @property
    def version(self) -> int:
        """Changes when a loop is found or gone."""
        return self._finding.version

    def subscribe(self, callback: Callable[[Sequence[bytes] | None], None]) -> Callable[[], None]:
        """Be told of that: whatever was forwarded of late may be cut from then on."""
        told = self._finding.told
        told.append(callback)
        return partial(told.remove, callback)

    def _find(self, request: Request) -> None:
        """The probe came back: say so, unless it is known."""
        finding = self._finding
        probe, finding.probe = names.to_text(finding.probe), b""
        finding.came_back = True
        if finding.looping:
            return
        finding.turn(looping=True)
        self._detected.set(1)
        host, port = request.client[0], request.client[1]
        client = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        to = self._target.text if self._target is not None else ""
        text = f'Loop ({client} -> {to}) detected for zone "{self._zone}", see {_HELP}. Query: "HINFO {probe}"'
        if self._degrade or finding.started:
            self._log.error(f"{text}. Queries to be forwarded are answered SERVFAIL until it is gone")
            return
        self._log.fatal(text)
        self._exit(1)

    def _lose(self) -> None:
        """There is no loop any more."""
        self._detected.set(0)
        self._log.info(f'Loop for zone "{self._zone}" is gone, queries are forwarded again')

    @property
    def _zone(self) -> str:
        return names.to_text(self._target.zone) if self._target is not None else "."

    def start(self) -> None:
        """Begin to probe, beside the event loop's other work."""
        if self._target is not None:
            self._work.start(partial(self._watch, self._target))

    async def stop(self) -> None:
        """End probing."""
        await self._work.stop()

    async def _watch(self, target: Target) -> None:
        """Probe now, and about every 30 s from then on."""
        await self.probe(target)
        self._finding.start()
        while True:
            await asyncio.sleep(_INTERVAL + _JITTER * secrets.randbelow(1000) / 1000)
            await self.probe(target)

    async def probe(self, target: Target) -> None:
        """Ask until there is any reply, at most for 30 s. If no probe has come back by then, there is no loop."""
        self._finding.begin()
        await self._ask(target)
        self._finding.end()

    async def _ask(self, target: Target) -> None:
        deadline = asyncio.get_running_loop().time() + _PROBING
        finding = self._finding
        tries = 0
        probe = b""
        try:
            while True:
                probe = _random_name(target.zone)
                finding.expect(probe)
                query = make_query(secrets.randbits(16), consts.RD, probe, consts.TYPE_HINFO)
                try:
                    await self._exchange(query, target.hosts[tries % len(target.hosts)], target.port)
                    return
                except OSError:  # a TimeoutError is one too
                    tries += 1
                if finding.came_back or asyncio.get_running_loop().time() >= deadline:
                    return
                finding.expect(b"")
                await asyncio.sleep(_PAUSE)
        finally:
            if finding.probe == probe:  # after a reload it may be our successor's
                finding.expect(b"")


def _target(site: Site) -> Target | None:
    """The first plain DNS address of the block; None if it has none, for only UDP is probed."""
    host = site.bind[0] if site.bind else ""
    for address, zone in zip(site.addresses, site.zones, strict=True):
        if address.scheme == "dns":
            if len(zone) + _LABELS_SIZE > names.MAX_NAME:
                raise CorefileError.unlocated(f'zone "{address.zone}" leaves no room for a probe')
            text = f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}"
            return Target(zone, _WILDCARDS.get(host, (host,)), int(address.port), text)
    return None


def _random_name(zone: bytes) -> bytes:
    """Two labels of 62 random bits each below `zone`."""
    labels = [str(secrets.randbelow(_GUESSES)).encode() for _ in range(2)]
    return names.join(names.from_labels(labels)[:-1], zone)


async def exchange(query: bytes, host: str, port: int) -> None:
    """One question and its reply over UDP. Raises OSError; TimeoutError after 2 s."""
    events = asyncio.get_running_loop()
    answered: asyncio.Future[None] = events.create_future()
    transport, _ = await events.create_datagram_endpoint(lambda: _Answer(query[:2], answered), remote_addr=(host, port))
    try:
        transport.sendto(query)
        async with asyncio.timeout(_PATIENCE):
            await answered
    finally:
        transport.close()


class _Answer(asyncio.DatagramProtocol):
    """Waits for a packet with the query's id."""

    def __init__(self, message_id: bytes, answered: asyncio.Future[None]) -> None:
        self._id = message_id
        self._answered = answered

    def datagram_received(self, data: bytes, addr: object) -> None:
        if data[:2] == self._id and not self._answered.done():
            self._answered.set_result(None)

    def error_received(self, exc: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(exc)
