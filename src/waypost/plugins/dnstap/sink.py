"""A receiver that frames are sent to: connected to, and again for as long as it takes."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from waypost.log import Log
from waypost.plugins.dnstap import place, stream
from waypost.plugins.dnstap.frames import FrameError
from waypost.plugins.dnstap.outlet import Drops
from waypost.plugins.dnstap.place import Place
from waypost.plugins.dnstap.queue import FrameQueue

# Seconds before each attempt to connect again; the last one holds from then on.
_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 10.0)
_LAST_SECONDS: Final = 2.0


class Sink:
    """An `Outlet` to one receiver."""

    __slots__ = ("_buffer", "_connected", "_drops", "_log", "_place", "_queue", "_task", "_tls")

    def __init__(
        self, where: Place, tls: ssl.SSLContext | None, *, limit: int, buffer: int, drops: Drops, log: Log
    ) -> None:
        """`limit` is a number of frames, `buffer` bytes for the kernel."""
        self._place = where
        self._tls = tls
        self._queue = FrameQueue(limit)
        self._buffer = buffer
        self._drops = drops
        self._log = log
        self._connected = False
        self._task: asyncio.Task[None] | None = None

    def wants(self) -> bool:
        """True while there is room in the queue."""
        if self._queue.full:
            self._drops.add()
            return False
        return True

    def send(self, payload: bytes) -> None:
        """Into the queue."""
        if not self._queue.put(payload):
            self._drops.add()

    async def start(self) -> None:
        """Connect, and go on in background."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="dnstap")

    async def close(self) -> None:
        """Send what waits, if the receiver takes it soon."""
        self._queue.close()
        if self._task is None:
            return
        if self._connected:
            await asyncio.wait([self._task], timeout=_LAST_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        failures = 0
        while not self._queue.closed:
            try:
                await self._deliver()
            except (OSError, FrameError) as exc:
                # Only the first failure of a row is told: the receiver may be away for days.
                if self._connected or not failures:
                    self._log.error(f"No connection to dnstap endpoint: {self._place}: {str(exc) or 'timed out'}")
                failures = 1 if self._connected else failures + 1
                self._connected = False
            if not self._queue.closed:
                await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES)) - 1])

    async def _deliver(self) -> None:
        """One connection from beginning to end."""
        reader, writer = await place.connect(self._place, self._tls, self._buffer)
        try:
            await stream.greet(reader, writer)
            self._connected = True
            await stream.send(reader, writer, self._queue, self._drops.add)
            await stream.part(reader, writer)
        finally:
            writer.close()
