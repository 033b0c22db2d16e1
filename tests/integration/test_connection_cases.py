"""Connections that end at the moment a client asks: it gets an answer or a clean end, and never a reset."""

from __future__ import annotations

import asyncio
import socket

from support.listening import World, numbers, query, stream
from waypost.dispatch.timeouts import Timeouts
from waypost.listeners.sockets import open_socket
from waypost.listeners.tcp import TcpListener
from waypost.listeners.terms import Terms

CLIENTS = 200
IDLE = 0.15
WITHIN = 0.005


async def test_a_query_at_the_moment_of_the_timeout() -> None:
    """B146: a server that closed its socket under the client's query reset the connection."""
    world = World()
    listener = TcpListener(open_socket(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", "0"), world.registry)
    await listener.serve(world.server, Terms(Timeouts(idle=IDLE)))
    port = listener.sock.getsockname()[1]

    async def client(number: int) -> list[int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(stream(query("a.", 1)))
        first = await reader.readexactly(2)
        first += await reader.readexactly(first[0] << 8 | first[1])
        await asyncio.sleep(IDLE - WITHIN + 2 * WITHIN * number / CLIENTS)
        writer.write(stream(query("a.", 2)))
        rest = await reader.read()  # to the server's end; raises ConnectionResetError for a reset
        writer.close()
        return numbers(first + rest)

    ends = await asyncio.gather(*map(client, range(CLIENTS)))
    assert all(end in ([1], [1, 2]) for end in ends)
    await listener.close()
