"""Questions to the server, over UDP and TCP, that it answers by itself: opcode STATUS reaches no plugin.

Each has a port of its own. Where two instances listen on an address, the kernel deals out packets by ports: a round
must see both of them.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from waypost.nodecache.settings import IpAddress

_STATUS: Final = b"\x10\x00\0\1\0\0\0\0\0\0" + b"\0\0\1\0\1"
"""A query behind its id: opcode STATUS, the root's address."""
_HEADER: Final = 12
_RESENDS: Final = 3


def local(addresses: Iterable[IpAddress]) -> list[IpAddress]:
    """Those that are addresses of this host, or else loopback: nobody else may answer in the server's place."""
    wanted = list(addresses)
    loopback = ip_address("127.0.0.1" if wanted[0].version == 4 else "::1")
    return [each for each in wanted if _is_local(each)] or [loopback]


async def all_answer(addresses: Iterable[IpAddress], port: int, patience: float) -> bool:
    """Whether every address answers two questions over UDP and one over TCP within so many seconds."""
    asking = [ask(str(address), port, patience) for address in addresses for ask in (_udp, _udp, _tcp)]
    return all(await asyncio.gather(*asking))


async def _udp(host: str, port: int, patience: float) -> bool:
    loop = asyncio.get_running_loop()
    query = secrets.token_bytes(2) + _STATUS
    with _socket(host, socket.SOCK_DGRAM) as sock:
        for _ in range(_RESENDS):
            try:
                async with asyncio.timeout(patience / _RESENDS):
                    await loop.sock_connect(sock, (host, port))
                    await loop.sock_sendall(sock, query)
                    while not _answers(await loop.sock_recv(sock, 512), query):
                        pass
                    return True
            except TimeoutError:
                continue
            except OSError:
                return False
    return False


async def _tcp(host: str, port: int, patience: float) -> bool:
    loop = asyncio.get_running_loop()
    query = secrets.token_bytes(2) + _STATUS
    with _socket(host, socket.SOCK_STREAM) as sock:
        try:
            async with asyncio.timeout(patience):
                await loop.sock_connect(sock, (host, port))
                await loop.sock_sendall(sock, len(query).to_bytes(2, "big") + query)
                data = b""
                while len(data) < 2 + _HEADER:
                    more = await loop.sock_recv(sock, 512)
                    if not more:
                        return False
                    data += more
                return _answers(data[2:], query)
        except OSError:  # a timeout is one, too
            return False


def _socket(host: str, kind: socket.SocketKind) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
    sock.setblocking(False)
    return sock


def _is_local(address: IpAddress) -> bool:
    with _socket(str(address), socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((str(address), 0))
        except OSError:
            return False
    return True


def _answers(data: bytes, query: bytes) -> bool:
    return len(data) >= _HEADER and data[:2] == query[:2] and data[2] & 0x80 != 0
