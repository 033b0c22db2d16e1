"""Where dnstap's stream goes to, or is asked for: a Unix socket, TCP or TLS."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple

from waypost.corefile.addresses import parse_port, split_host_port

UNIX: Final = "unix"
TCP: Final = "tcp"
TLS: Final = "tls"
_CONNECT_SECONDS: Final = 4.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


class Place(NamedTuple):
    """`target` is a path for `unix`, else HOST:PORT."""

    scheme: str
    target: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.target}"

    def host_port(self) -> tuple[str, int]:
        """Raises OSError, with Go's text, if `target` is none: CoreDNS finds that out when it connects."""
        try:
            host, port = split_host_port(self.target)
            return host, parse_port(port)
        except ValueError as exc:
            raise OSError(str(exc)) from exc


def parse_place(text: str) -> Place:
    """`tcp://HOST:PORT`, `tls://HOST:PORT`, `unix://PATH` or a path."""
    for scheme in (TCP, TLS):
        if text.startswith(f"{scheme}://"):
            return Place(scheme, text.removeprefix(f"{scheme}://").partition("/")[0])
    return Place(UNIX, text.removeprefix(f"{UNIX}://"))


async def connect(place: Place, tls: ssl.SSLContext | None, buffer: int) -> Connection:
    """Connect to a receiver, with `buffer` bytes for what it has not read yet. Raises OSError."""
    async with asyncio.timeout(_CONNECT_SECONDS):
        if place.scheme == UNIX:
            return await asyncio.open_unix_connection(place.target)
        host, port = place.host_port()
        reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    set_buffer(writer, buffer)
    return reader, writer


async def listen(place: Place, tls: ssl.SSLContext | None, connected: Connected) -> asyncio.Server:
    """Let receivers connect. Raises OSError."""
    if place.scheme == UNIX:
        return await asyncio.start_unix_server(connected, place.target)
    host, port = place.host_port()
    return await asyncio.start_server(connected, host or None, port, ssl=tls, reuse_port=True)


def forget(place: Place) -> None:
    """Remove what listening has left in the file system."""
    if place.scheme == UNIX:
        try:
            os.unlink(place.target)
        except OSError:  # gone, or somebody else's by now
            pass


def set_buffer(writer: asyncio.StreamWriter, size: int) -> None:
    """How much the kernel keeps for a receiver over TCP."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
