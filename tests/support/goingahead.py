"""A server that forwards what is not in the cluster, asked as a listener asks."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import dns.message

from support.chain import FakeProcess, make_directive, make_site, make_wire, run
from support.metrics_shown import scraped
from waypost.cluster.index import Index
from waypost.control.catalogue import load_plugin
from waypost.dispatch.ahead import Answer, Journey, Passage
from waypost.dispatch.handler import ChangeFeed
from waypost.dispatch.memo import Memo
from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.toolkit.upstream_group import UpstreamGroup

CLIENT = ("192.0.2.1", 4000)


@dataclass
class World:
    """One server that forwards what is not in the cluster."""

    server: Server
    process: FakeProcess
    answers: list[object] = field(default_factory=list)
    ahead: int = 0

    async def ask(
        self, name: str, bufsize: int | None = None, rd: bool = True, qtype: str = "A"
    ) -> dns.message.Message:
        """What the client reads; it is noted in `answers`, and in `ahead` whether the query went ahead of the chain."""
        wire = len(self.answers).to_bytes(2, "big") + make_wire(name, qtype, bufsize=bufsize, rd=rd)[2:]
        answer = await self._answer(wire)
        assert isinstance(answer, bytes)
        assert answer[:2] == wire[:2]
        message = dns.message.from_wire(answer)
        texts = ["\n".join(map(str, section)).splitlines() for section in message.sections]
        sections = [sorted(map(self.without_ttl, section)) for section in texts]
        self.answers.append((name, message.flags, message.rcode(), message.edns, message.payload, sections))
        return message

    def without_ttl(self, text: str) -> str:
        """A cache's goes down while we look."""
        return re.sub(r" \d+ IN ", " IN ", text) if "cache" in self.server.zones.all_sites()[0].handlers else text

    async def _answer(self, wire: bytes) -> object:
        received = time.perf_counter()
        kept = self.server.memos[0].recall(wire, received, lambda number: CLIENT)
        if isinstance(kept, bytes):
            return kept
        if isinstance(kept, Passage):
            listener = Listener()
            if kept.admits(wire) and kept.road.send(Journey(listener, self.server, kept, wire, received, CLIENT)):
                self.ahead += 1
                answer = await listener.landed
                return await answer if hasattr(answer, "__await__") else answer
        answer = self.server.serve(wire, CLIENT, True)
        return answer if isinstance(answer, bytes | None) else await answer  # type: ignore[misc]

    def shown(self) -> dict[str, object]:
        """How often a socket was there to use, and whether a probe was sent, depends on time."""
        left_out = ("conn_cache", "healthcheck")
        return {name: value for name, value in scraped(self.process).items() if not any(x in name for x in left_out)}

    def counted(self, name: str) -> object:
        """One of what is shown, 0 if it is not there."""
        return scraped(self.process).get(name, 0)

    def logged(self) -> list[str]:
        return [re.sub(r"\d\.\d{9}s|:\d{4,5}\b", "", line) for line in self.process.lines]


class Listener:
    """Where answers land."""

    def __init__(self) -> None:
        self.landed: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def client_of(self, way: Address) -> Address:
        return way

    def land(self, journey: Journey, answer: Answer) -> None:
        self.landed.set_result(answer)


@asynccontextmanager
async def world_of(forward: str, memo: Memo, extra: str = "") -> AsyncIterator[World]:
    """A block with this forward directive behind the plugins of a stock Corefile, and an extra one."""
    process = FakeProcess()
    site = make_site(".", process=process)
    for line in ["prometheus 127.0.0.1:0", "errors", *([extra] if extra else []), "loadbalance", "kubernetes", forward]:
        if line == "kubernetes":
            config = parse(make_directive("kubernetes cluster.local in-addr.arpa"), site.zones)
            site.add(Kubernetes(config, Index(lambda: 1.0), ()))
            continue
        plugin = load_plugin(line.split()[0])
        assert plugin is not None
        plugin.setup(make_directive(line), site)
    site.link()
    server = Server("dns", "", "53", site.log, process.metrics)
    server.memos = (memo, memo)
    process.metrics.before_scrape.insert(0, memo.fold)
    server.add(site.zones[0], site)
    for feed in (handler for handler in site.all_handlers() if isinstance(handler, ChangeFeed)):
        memo.changed(None, feed.version, feed)
        feed.subscribe(partial(_tell, memo, feed))
    try:
        yield World(server, process)
    finally:
        await run(site.hooks.stop)
        for lent in process.lender.lent.values():
            if isinstance(lent, UpstreamGroup):
                await lent.close()


def _tell(memo: Memo, feed: ChangeFeed, keys: Sequence[bytes] | None) -> None:
    memo.changed(keys, feed.version, feed)
