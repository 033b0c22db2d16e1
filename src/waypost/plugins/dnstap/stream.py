"""One connection over which frames are sent: the handshake, the frames as they come, the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from waypost.plugins.dnstap import frames
from waypost.plugins.dnstap.frames import Control, FrameError
from waypost.plugins.dnstap.queue import FrameQueue

_HANDSHAKE_SECONDS: Final = 4.0
_FINISH_SECONDS: Final = 1.0
# A receiver that takes nothing for this long has gone.
_WRITE_SECONDS: Final = 30.0
# Frames of so many seconds leave together.
_GATHER_SECONDS: Final = 0.05


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Agree on what is sent. Raises FrameError, or OSError if the receiver is gone or takes too long."""
    async with asyncio.timeout(_HANDSHAKE_SECONDS):
        writer.write(frames.encode(Control(frames.READY, (frames.CONTENT_TYPE,))))
        accepted = await _read_control(reader)
        if accepted.kind != frames.ACCEPT:
            raise FrameError("expected ACCEPT")
        if accepted.content_types and frames.CONTENT_TYPE not in accepted.content_types:
            raise FrameError(f"the receiver does not take {frames.CONTENT_TYPE.decode()}")
        writer.write(frames.encode(Control(frames.START, (frames.CONTENT_TYPE,))))
        await writer.drain()


async def send(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, queue: FrameQueue, lost: Callable[[int], None]
) -> None:
    """Send what comes into the queue until that is closed. Raises OSError; `lost` is told how many frames it cost."""
    while True:
        await queue.arrived.wait()
        if not queue.closed:
            await asyncio.sleep(_GATHER_SECONDS)
        while batch := queue.take():
            try:
                await _write(reader, writer, b"".join(batch))
            except OSError:
                lost(len(batch))
                raise
        if queue.closed:
            return


async def part(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say the end and wait a moment for the receiver to have read everything. Raises FrameError or OSError."""
    async with asyncio.timeout(_FINISH_SECONDS):
        await _write(reader, writer, frames.encode(Control(frames.STOP)))
        if (await _read_control(reader)).kind != frames.FINISH:
            raise FrameError("expected FINISH")


async def _write(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> None:
    if reader.at_eof():
        raise ConnectionResetError("the receiver has closed the connection")
    writer.write(data)
    async with asyncio.timeout(_WRITE_SECONDS):
        await writer.drain()


async def _read_control(reader: asyncio.StreamReader) -> Control:
    try:
        length = frames.control_length(await reader.readexactly(8))
        return frames.decode(await reader.readexactly(length))
    except asyncio.IncompleteReadError as exc:
        raise ConnectionResetError("the receiver has closed the connection") from exc
