"""Frames that wait to be sent: bounded in number and in bytes, so that nobody has to wait for a slow receiver."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from waypost.plugins.dnstap import frames

# What a frame may weigh on average before the bound in bytes holds: a pair of address and time has a hundred, one with
# the whole message a few hundred. A client that makes us send the largest messages must not fill the memory.
_BYTES_A_FRAME: Final = 4096
_BATCH: Final = 65_536


class FrameQueue:
    """At most `limit` frames, the oldest leaving first. `arrived` is set while there is something to do."""

    __slots__ = ("_bytes", "_frames", "_limit", "arrived", "closed")

    def __init__(self, limit: int) -> None:
        self.arrived = asyncio.Event()
        self.closed = False
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._limit = limit

    @property
    def full(self) -> bool:
        """True if the next frame would be one too many."""
        return len(self._frames) >= self._limit or self._bytes >= self._limit * _BYTES_A_FRAME

    def put(self, payload: bytes) -> bool:
        """Take a payload in; False if there is no room."""
        if self.full:
            return False
        frame = frames.data(payload)
        self._frames.append(frame)
        self._bytes += len(frame)
        self.arrived.set()
        return True

    def take(self) -> list[bytes]:
        """The oldest frames, about 64 KiB of them; none if there are none."""
        batch = []
        size = 0
        while self._frames and size < _BATCH:
            frame = self._frames.popleft()
            batch.append(frame)
            size += len(frame)
        self._bytes -= size
        if not self._frames and not self.closed:
            self.arrived.clear()
        return batch

    def close(self) -> None:
        """Nothing will come any more: what is there can be sent, and then the end be told."""
        self.closed = True
        self.arrived.set()
