"""The `kubernetes` plugin as it follows a simulated API server, asked by packets: time may be ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import dns.message
import dns.rcode
import pytest

from support.apiserver import ApiServer
from support.asking import Block, block, summary, texts
from support.chain import run
from waypost.kube.audit import AuditTiming
from waypost.kube.reflector import Reflector, Timing
from waypost.plugins.kubernetes import setup
from waypost.plugins.kubernetes import source as source_module
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.plugins.kubernetes.source import ClusterSource

ZONE = "cluster.local."
FAST = Timing(
    first_pause=0.01,
    longest_pause=0.05,
    initial_silence=2.0,
    short_watch=0.0,
    stale=0.3,
    bookmark_gap=0.3,
    audit=AuditTiming(every=3600.0),
)
"""Retries at once, and no audit by itself."""
DNS = "cluster.local in-addr.arpa ip6.arpa"
UNHURRIED = "apiserver_qps 1000000\napiserver_burst 1000"


class Followed:
    """A plugin that follows; `ask` is what a client reads."""

    def __init__(self, made: Block, source: ClusterSource) -> None:
        self.block = made
        self.source = source
        handler = made.site.handlers["kubernetes"][0]
        assert isinstance(handler, Kubernetes)
        self.handler = handler

    @property
    def lines(self) -> list[str]:
        """The log so far."""
        return self.block.process.lines

    async def ask(self, name: str, qtype: str = "A", **how: Any) -> dns.message.Message:
        """One question; a name without an end is within the cluster's zone."""
        return await self.block.ask(name if name.endswith(".") else f"{name}.{ZONE}", qtype, **how)

    async def rcode(self, name: str, qtype: str = "A") -> str:
        """The rcode of an answer."""
        return dns.rcode.to_text((await self.ask(name, qtype)).rcode())

    async def data(self, name: str, qtype: str = "A") -> list[str]:
        """The record data of an answer, sorted; the rcode in place of it where there is none."""
        message = await self.ask(name, qtype)
        found = [text.split(None, 3)[3] for text in texts(message.answer)]
        return found or [dns.rcode.to_text(message.rcode()) if message.rcode() else "NODATA"]

    async def summary(self, name: str, qtype: str = "A") -> tuple[str, str, list[str], list[str], list[str]]:
        """rcode, flags and the three sections."""
        return summary(await self.ask(name, qtype))

    async def becomes(self, wanted: dict[str, list[str]], seconds: float = 10.0) -> None:
        """Returns once the questions (`NAME` or `NAME TYPE`) have these data; fails after `seconds`."""
        found: dict[str, list[str]] = {}
        try:
            async with asyncio.timeout(seconds):
                while found != wanted:
                    await asyncio.sleep(0.005)
                    found = {each: await self.data(*each.split()) for each in wanted}
        except TimeoutError:
            assert found == wanted, self.lines


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.longest = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Pass so many seconds in a moment."""
        self.now += seconds
        self.longest = max(self.longest, seconds)
        await asyncio.sleep(0.001)


@asynccontextmanager
async def following(
    server: ApiServer | str,
    options: str = "",
    *,
    timing: Timing = FAST,
    time: Time | None = None,
    patience: float = 10.0,
    zones: str = DNS,
    access: str = "endpoint {url}",
    **reflector: Any,
) -> AsyncIterator[Followed]:
    """The plugin, started: it has waited for the sync, at most `patience` seconds."""
    url = server if isinstance(server, str) else server.url
    clocks: dict[str, Callable[..., Any]] = {} if time is None else {"clock": time, "sleep": time.sleep}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_module, "Reflector", partial(Reflector, timing=timing, **clocks, **reflector))
        lines = (access.format(url=url), UNHURRIED, f"startup_timeout {patience}s", options)
        made = block(setup, f"kubernetes {zones} {{\n" + "\n".join(lines) + "\n}")
        (source,) = made.process.lender.lent.values()
        assert isinstance(source, ClusterSource)
        try:
            await run(made.site.hooks.start)
            yield Followed(made, source)
        finally:
            await source.close()
