"""What the supervisor and a worker say to each other: MessagePack, each message behind its length."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

import msgspec

from waypost.corefile.model import Corefile

_LENGTH: Final = struct.Struct("!I")


class Prepare(msgspec.Struct, tag=True, frozen=True):
    """Set a configuration up and start it beside the one that serves; None: the one that the worker was forked with."""

    corefile: Corefile | None = None
    digest: str = ""


class Commit(msgspec.Struct, tag=True, frozen=True):
    """The prepared configuration serves now, and the one before it ends."""


class Abort(msgspec.Struct, tag=True, frozen=True):
    """Forget the prepared configuration."""


class Stop(msgspec.Struct, tag=True, frozen=True):
    """Answer what has arrived, and end. The answer says what was counted at the end."""


class Http(msgspec.Struct, tag=True, frozen=True):
    """Answer a request to the HTTP server of an address."""

    address: str
    method: str
    path: str
    query: str
    headers: dict[str, str]


class Count(msgspec.Struct, tag=True, frozen=True):
    """Tell what was counted so far."""


class Change(msgspec.Struct, tag=True, frozen=True):
    """A change of replicated data; nothing is answered."""

    name: str
    data: bytes


Request = Prepare | Commit | Abort | Stop | Http | Count | Change


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """From the supervisor, with a number for the answer."""

    number: int
    request: Request


class Answer(msgspec.Struct, tag=True, frozen=True):
    """To the request with this number: a value in MessagePack, or what went wrong."""

    number: int
    value: msgspec.Raw = msgspec.Raw(msgspec.msgpack.encode(None))
    error: str = ""


class Exit(msgspec.Struct, tag=True, frozen=True):
    """From a worker: a plugin wants everything to end with this exit code."""

    code: int


Said = Answer | Exit
ASKED: Final = msgspec.msgpack.Decoder(Asked)
SAID: Final = msgspec.msgpack.Decoder(Said)


class Channel:
    """One end of a stream socket between two processes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def on(cls, sock: socket.socket) -> Channel:
        """On a connected socket, which it owns from now on."""
        return cls(*await asyncio.open_connection(sock=sock))

    def send(self, message: msgspec.Struct) -> None:
        """Send; what the other end does not take waits here (`waiting`)."""
        data = msgspec.msgpack.encode(message)
        if not self._writer.is_closing():
            self._writer.write(_LENGTH.pack(len(data)) + data)

    @property
    def waiting(self) -> int:
        """Bytes that were not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    async def receive(self) -> bytes:
        """The next message. Raises EOFError or OSError when the other end is gone."""
        (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
        return await self._reader.readexactly(length)

    async def flush(self) -> None:
        """Wait until all that was sent is taken. Raises OSError."""
        self._writer.transport.set_write_buffer_limits(high=0)
        await self._writer.drain()

    def close(self) -> None:
        """Close it; what was sent still goes out."""
        self._writer.close()
