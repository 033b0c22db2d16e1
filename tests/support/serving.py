"""Server blocks as a Corefile has them, with a scripted plugin at the end of each chain, asked by packets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import dns.message

from support.chain import FakeProcess, make_wire
from support.corefiles import DictReader
from waypost.control.build import build
from waypost.corefile.parser import parse
from waypost.dispatch.ahead import Messages
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Address, Request
from waypost.dispatch.serve import Server
from waypost.plugins.order import ORDER
from waypost.wire.reply import Reply

CLIENT = ("192.0.2.9", 40000)


class Last:
    """The last plugin: gives what `answer` makes of a request, and remembers what it was asked."""

    next: Handler

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.name = "last"
        self.answer = answer
        self.seen: list[Request] = []

    def serve(self, request: Request) -> Outcome:
        self.seen.append(request)
        return self.answer(request)


class Serving:
    """The first listener of a Corefile. `answer` is asked by every block."""

    def __init__(self, corefile: str, answer: Callable[[Request], Reply]) -> None:
        self.process = FakeProcess()
        self.last = Last(answer)
        parsed = parse(corefile, "Corefile", env={}, known=ORDER, read=DictReader())
        plan = build(parsed, "53", self.process.services())
        for site in plan.sites:
            site.add(self.last)
            site.link()
        self.server: Server = next(iter(plan.servers.values()))

    async def send(self, wire: bytes, *, client: Address = CLIENT, datagram: bool = True) -> Messages:
        """What leaves for a packet."""
        answer = self.server.serve(wire, client, datagram)
        return await answer if isinstance(answer, Awaitable) else answer

    async def ask(
        self, name: str, qtype: str = "A", *, client: Address = CLIENT, datagram: bool = True, **how: Any
    ) -> dns.message.Message:
        """The reply that the client reads; `how` as for `make_wire`."""
        out = await self.send(make_wire(name, qtype, **how), client=client, datagram=datagram)
        assert isinstance(out, bytes)
        return dns.message.from_wire(out)

    def counted(self, metric: str) -> dict[tuple[str, ...], float]:
        """The cells of a counter by label values."""
        return {key: cell.value for key, cell in self.process.metrics.families[metric].cells.items()}  # type: ignore[union-attr]
