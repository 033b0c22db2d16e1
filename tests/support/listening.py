"""A server for listeners to hand packets to, and what a stream connection stands on."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import dns.flags
import dns.message

from support.load import framed
from waypost.corefile.zones import ZoneAddress
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.serve import Server
from waypost.dispatch.site import Hooks, Services, Site
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.wire.record import address
from waypost.wire.reply import DROP, Reply, authoritative


class Plugin:
    """Answers at once, but for names that begin with `slow`, when it is told to, and `drop`, never.

    `open` are the coroutines that have begun and not ended.
    """

    name = "plugin"
    next: Handler

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self.waiting: dict[bytes, asyncio.Event] = {}
        self.open = 0

    def serve(self, request: Request) -> Outcome:
        self.seen.append(request)
        first = request.name[1 : 1 + request.name[0]]
        if first.startswith(b"drop"):
            return DROP
        if first.startswith(b"slow"):
            return self._later(request, self.waiting.setdefault(first, asyncio.Event()))
        if first.startswith(b"fail"):
            return self._fail()
        return answer(request)

    async def _later(self, request: Request, event: asyncio.Event) -> Reply:
        self.open += 1
        try:
            await event.wait()
        finally:
            self.open -= 1
        return answer(request)

    async def _fail(self) -> Reply:
        raise RuntimeError("a fault of a plugin")


def answer(request: Request) -> Reply:
    return authoritative(request.query, (address(request.query.qname, 5, b"\x0a\x00\x00\x01"),))


class World:
    """A server of one block with that plugin, on `host` (empty: unbound)."""

    def __init__(self, host: str = "") -> None:
        self.registry = Registry()
        self.log = io.StringIO()
        self.plugin = Plugin()
        services = Services(Log(self.log), self.registry, None, Hooks(), lambda _: None, lambda *_: None)  # type: ignore[arg-type]
        site = Site((ZoneAddress("dns", ".", "53"),), services, services.log)
        site.add(self.plugin)
        site.link()
        self.server = Server("dns", host, "53", services.log, self.registry)
        self.server.add(site.zones[0], site)

    def dropped(self, reason: str) -> float:
        """How many packets were counted as dropped for this reason."""
        return self.registry.counter("waypost_dropped_packets_total", "", ("reason",)).labels(reason).value


def query(name: str = "a.", number: int = 1) -> bytes:
    """A question with this id."""
    return dns.message.make_query(name, "A", id=number).to_wire()


def response(number: int = 1) -> bytes:
    """A message that is a response already."""
    message = dns.message.make_query("a.", "A", id=number)
    message.flags |= dns.flags.QR
    return message.to_wire()


def stream(*wires: bytes) -> bytes:
    """Messages as they follow each other on a connection."""
    return b"".join(map(framed, wires))


def numbers(data: bytes) -> list[int]:
    """Ids of the answers on a stream, each checked to be one answered question."""
    found = []
    while data:
        size = int.from_bytes(data[:2], "big")
        message = dns.message.from_wire(data[2 : 2 + size])
        assert message.flags & dns.flags.QR
        found.append(message.id)
        data = data[2 + size :]
    return found


class FakeTransport(asyncio.Transport):
    """Keeps what is written in `writes`; `unsent` is what the client left."""

    def __init__(self, *, half_close: bool = True) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self._reading = True
        self.unsent = 0
        self.state = "open"
        self._half_close = half_close
        self._protocol: asyncio.Protocol | None = None

    def connect(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.9", 40000), "sockname": ("192.0.2.1", 53)}.get(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert self.state == "open"
        self.writes.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True

    def can_write_eof(self) -> bool:
        return self._half_close

    def write_eof(self) -> None:
        assert self._half_close, "this transport has no half close, as can_write_eof says"
        self.state = "half closed"

    def is_closing(self) -> bool:
        return self.state in ("closed", "aborted")

    def close(self) -> None:
        self._lose("closed")

    def abort(self) -> None:
        self._lose("aborted")

    def _lose(self, state: str) -> None:
        if not self.is_closing():
            self.state = state
            assert self._protocol is not None
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)
