"""A dnstap receiver: Frame Streams by hand, the messages decoded by protobuf from a schema written down here."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

READY = b"\x00\x00\x00\x00\x00\x00\x00\x22\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x16protobuf:dnstap.Dnstap"
ACCEPT = READY.replace(b"\x00\x04\x00\x00\x00\x01", b"\x00\x01\x00\x00\x00\x01")
START = READY.replace(b"\x00\x04\x00\x00\x00\x01", b"\x00\x02\x00\x00\x00\x01")
STOP = b"\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x03"
FINISH = b"\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x05"

# Name, number and type (descriptor.proto) of the fields in dnstap.proto, enumerations as numbers.
_INT, _BYTES, _FIXED32, _MESSAGE = 13, 12, 7, 11
_MESSAGE_FIELDS = {
    "type": (1, _INT), "socket_family": (2, _INT), "socket_protocol": (3, _INT), "query_address": (4, _BYTES),
    "response_address": (5, _BYTES), "query_port": (6, _INT), "response_port": (7, _INT), "query_time_sec": (8, 4),
    "query_time_nsec": (9, _FIXED32), "query_message": (10, _BYTES), "query_zone": (11, _BYTES),
    "response_time_sec": (12, 4), "response_time_nsec": (13, _FIXED32), "response_message": (14, _BYTES),
}  # fmt: skip
_DNSTAP_FIELDS = {
    "identity": (1, _BYTES), "version": (2, _BYTES), "extra": (3, _BYTES), "message": (14, _MESSAGE),
    "type": (15, _INT),
}  # fmt: skip


def _schema() -> Any:
    """The class of `dnstap.Dnstap`."""
    file = descriptor_pb2.FileDescriptorProto(name="dnstap.proto", package="dnstap", syntax="proto2")
    for name, fields in (("Message", _MESSAGE_FIELDS), ("Dnstap", _DNSTAP_FIELDS)):
        kind = file.message_type.add(name=name)
        for each, (number, number_type) in fields.items():
            added = kind.field.add(name=each, number=number, type=number_type, label=1)
            if number_type == _MESSAGE:
                added.type_name = ".dnstap.Message"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("dnstap.Dnstap"))


_DNSTAP = _schema()


def decode(payload: bytes) -> Any:
    """A `dnstap.Dnstap`; fields that nobody knows fail."""
    found = _DNSTAP.FromString(payload)
    assert found.SerializeToString(deterministic=True) is not None
    assert len(found.SerializeToString()) == len(payload), "fields that are in no schema"
    return found


@dataclass
class Receiver:
    """What one receiver got, over all its connections. `accept` is what it says to READY, None for nothing."""

    accept: bytes | None = ACCEPT
    got: list[Any] = field(default_factory=list)
    connections: int = 0
    finished: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    """Cleared, it stops reading payloads."""

    def __post_init__(self) -> None:
        self.read.set()

    def messages(self) -> list[Any]:
        """The messages in what came."""
        return [each.message for each in self.got]

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection from READY to FINISH."""
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            assert await reader.readexactly(len(READY)) == READY
            if self.accept is None:
                await reader.read()
                return
            writer.write(self.accept)
            assert await reader.readexactly(len(START)) == START
            while await self.read.wait():
                head = await reader.readexactly(4)
                if head == b"\0\0\0\0":
                    assert head + await reader.readexactly(8) == STOP
                    writer.write(FINISH)
                    self.finished += 1
                    break
                self.got.append(decode(await reader.readexactly(*struct.unpack("!I", head))))
        writer.close()

    async def on_unix(self, path: Path) -> asyncio.Server:
        """Listen on a path."""
        return await asyncio.start_unix_server(self.receive, path)

    async def on_tcp(self, port: int = 0, tls: ssl.SSLContext | None = None) -> asyncio.Server:
        """Listen on loopback."""
        return await asyncio.start_server(self.receive, "127.0.0.1", port, ssl=tls)

    def hang_up(self) -> None:
        """End every connection."""
        for writer in self.writers:
            writer.close()
        self.writers.clear()


@contextlib.asynccontextmanager
async def receiving(path: Path) -> AsyncIterator[Receiver]:
    """A receiver on a Unix socket."""
    receiver = Receiver()
    server = await receiver.on_unix(path)
    try:
        yield receiver
    finally:
        server.close()
        receiver.hang_up()
