"""The listening socket of an HTTP server, with errors in Go's words."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Final

from waypost.corefile.addresses import join_host_port

_BACKLOG: Final = 128

_Target = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


class ListenError(Exception):
    """An address that cannot be listened on; the text is Go's: `listen tcp :8080: bind: address already in use`."""


async def listen(host: str, port: str) -> socket.socket:
    """A socket that listens; an empty host means every address of both families.

    Several processes may listen on one port (SO_REUSEPORT). A host name with several addresses gets its first, IPv4
    before IPv6. Raises ListenError.
    """
    family, target = await _resolve(host, port) if host else _wildcard(port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(target)
        sock.listen(_BACKLOG)
    except OSError as exc:
        sock.close()
        reason = os.strerror(exc.errno or 0).lower()
        raise ListenError(f"listen tcp {join_host_port(host, port)}: bind: {reason}") from exc
    return sock


def _wildcard(port: str) -> tuple[socket.AddressFamily, _Target]:
    """Both families through one IPv6 socket, where the kernel has IPv6."""
    if socket.has_dualstack_ipv6():
        return socket.AF_INET6, ("::", int(port))
    return socket.AF_INET, ("0.0.0.0", int(port))


async def _resolve(host: str, port: str) -> tuple[socket.AddressFamily, _Target]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as exc:
        raise ListenError(f"listen tcp: lookup {host}: no such host") from exc
    family, _, _, _, target = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, target
