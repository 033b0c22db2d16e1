"""Connecting to an upstream over TCP or TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError, connecting, failed_handshake

DIAL_TIMEOUT = 2.0


async def dial(
    protocol: Callable[[], asyncio.Protocol],
    address: UpstreamAddress,
    tls: ssl.SSLContext | None,
    source: str,
    patience: float,
) -> None:
    """Connect from the local IP address `source` (empty for any), within `patience` seconds. Raises UpstreamError."""
    try:
        async with asyncio.timeout(patience):
            await _connect(protocol, address, tls, source)
    except ssl.SSLError as exc:
        raise failed_handshake(str(address), exc) from exc
    except OSError as exc:
        raise connecting("tcp", str(address), exc) from exc
    except ValueError as exc:  # a server name that cannot be one
        raise UpstreamError(f"tls: {address}: {exc}") from exc


async def _connect(
    protocol: Callable[[], asyncio.Protocol], address: UpstreamAddress, tls: ssl.SSLContext | None, source: str
) -> None:
    loop = asyncio.get_running_loop()
    sock = new_socket(address, socket.SOCK_STREAM, source)
    try:
        await loop.sock_connect(sock, address.sockaddr())
        name = (address.server_name or address.ip) if tls else None
        await loop.create_connection(protocol, sock=sock, ssl=tls, server_hostname=name)
    except BaseException:
        sock.close()
        raise


def new_socket(address: UpstreamAddress, kind: socket.SocketKind, source: str) -> socket.socket:
    """A non-blocking socket of the address's family, bound to `source` if that is of the same. Raises OSError."""
    sock = socket.socket(address.family, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        if source and (":" in source) == address.is_v6:
            sock.bind((source, 0))
    except OSError:
        sock.close()
        raise
    return sock


def connected_datagram_socket(address: UpstreamAddress, source: str) -> socket.socket:
    """A UDP socket that sends to, and hears from, one address only. Raises OSError."""
    sock = new_socket(address, socket.SOCK_DGRAM, source)
    try:
        sock.connect(address.sockaddr())
    except OSError:
        sock.close()
        raise
    return sock
