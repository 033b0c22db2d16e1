"""Receivers that connect to us, and are sent frames as long as they stay."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from waypost.log import Log
from waypost.plugins.dnstap import place, stream
from waypost.plugins.dnstap.frames import FrameError
from waypost.plugins.dnstap.outlet import Drops
from waypost.plugins.dnstap.place import Place
from waypost.plugins.dnstap.queue import FrameQueue

_LAST_SECONDS: Final = 2.0
_MAX_RECEIVERS: Final = 32


class Listening:
    """An `Outlet` to all of them, each with a queue of its own."""

    __slots__ = ("_buffer", "_drops", "_limit", "_log", "_make_tls", "_place", "_queues", "_server", "_tasks")

    def __init__(
        self,
        where: Place,
        make_tls: Callable[[], ssl.SSLContext | None],
        *,
        limit: int,
        buffer: int,
        drops: Drops,
        log: Log,
    ) -> None:
        """`limit` is a number of frames for each receiver, `buffer` bytes for the kernel. `make_tls` may raise."""
        self._place = where
        self._make_tls = make_tls
        self._limit = limit
        self._buffer = buffer
        self._drops = drops
        self._log = log
        self._server: asyncio.Server | None = None
        self._queues: list[FrameQueue] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The bound port, 0 while it does not listen."""
        sockets = self._server.sockets if self._server is not None else ()
        return int(sockets[0].getsockname()[1]) if sockets else 0

    def wants(self) -> bool:
        """True while somebody listens."""
        return bool(self._queues)

    def send(self, payload: bytes) -> None:
        """To each receiver."""
        for queue in self._queues:
            if not queue.put(payload):
                self._drops.add()

    async def start(self) -> None:
        """Listen; what keeps us from it is logged, and the server goes on without."""
        if self._server is not None:
            return
        try:
            self._server = await place.listen(self._place, self._make_tls(), self._connected)
        except Exception as exc:
            self._log.error(f"Failed to start dnstap listener: {self._place}: {exc}")

    async def close(self) -> None:
        """Listen no more, and send what waits to those that take it soon."""
        if self._server is None:
            return
        self._server.close()
        place.forget(self._place)
        for queue in self._queues:
            queue.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_LAST_SECONDS)
            for task in late:
                task.cancel()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= _MAX_RECEIVERS:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer), name="dnstap")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            place.set_buffer(writer, self._buffer)
            await self._deliver(reader, writer)
        except (OSError, FrameError) as exc:
            text = f"A dnstap receiver at {self._place} is gone: {str(exc) or 'timed out'}"
            self._log.once_a_burst(self._log.warning, text)
        finally:
            writer.close()

    async def _deliver(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stream.greet(reader, writer)
        queue = FrameQueue(self._limit)
        self._queues.append(queue)
        try:
            await stream.send(reader, writer, queue, self._drops.add)
            await stream.part(reader, writer)
        finally:
            self._queues.remove(queue)
