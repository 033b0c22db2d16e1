"""The upstreams of a suite: DNS servers on loopback, UDP and TCP, that answer by rules. They run in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar, cast

import dns.exception
import dns.message

from support.suite_runner.normal_form import Json
from support.suite_runner.rules import Asked, Rules, make_reply

T = TypeVar("T")
Send = Callable[[bytes], None]


class LoopThread:
    """An event loop that runs in a thread; use as a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there and wait for it here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(5)


class Upstream:
    """One port. Its methods are for the loop's thread; use `LoopThread.run`."""

    def __init__(self, port: int, rules: Iterable[Json]) -> None:
        self.port = port
        self.rules = Rules(rules)
        self.seen: Counter[tuple[str, str, str]] = Counter()
        self._datagrams: asyncio.DatagramTransport | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the port."""
        loop = asyncio.get_running_loop()
        self._datagrams, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self), local_addr=("127.0.0.1", self.port)
        )
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, reuse_address=True)

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._datagrams is not None:
            self._datagrams.close()
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
        self._datagrams = self._server = None

    async def set_rules(self, rules: Iterable[Json]) -> None:
        """Other rules, as new; what was seen stays."""
        self.rules = Rules(rules)

    async def count(self, wanted: Json) -> int:
        """How many queries came for `name`, and if given `type` and `proto`."""
        fields = (wanted["name"].lower(), wanted.get("type"), wanted.get("proto"))
        return sum(
            times
            for key, times in self.seen.items()
            if all(want in (None, have) for want, have in zip(fields, key, strict=True))
        )

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something that ends with this upstream."""
        self._keep(asyncio.get_running_loop().create_task(work))

    async def answer(self, wire: bytes, proto: str, send: Send) -> None:
        """Reply to one message, or not."""
        try:
            asked = Asked(dns.message.from_wire(wire, keyring=False), proto)
        except dns.exception.DNSException:
            return
        if not asked.message.question:
            return
        self.seen[asked.key] += 1
        rule, use = self.rules.choose(asked)
        if rule.get("delay"):
            await asyncio.sleep(rule["delay"])
        if not rule.get("drop"):
            send(make_reply(asked, rule, use))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._keep(task)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
                while True:
                    (size,) = struct.unpack("!H", await reader.readexactly(2))
                    wire = await reader.readexactly(size)
                    await self.answer(wire, "tcp", lambda reply: writer.write(struct.pack("!H", len(reply)) + reply))
                    await writer.drain()
        finally:
            writer.transport.abort()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._upstream.spawn(self._upstream.answer(data, "udp", lambda reply: self._transport.sendto(reply, addr)))
