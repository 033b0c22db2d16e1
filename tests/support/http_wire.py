"""An HTTP server on loopback that answers with given bytes, right or wrong, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final, Self

OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HANG_UP: Final = b""
"""Instead of an answer: the connection is closed."""


class HttpWire:
    """Gives the answers in their order, one for each request. Use it as an asynchronous context manager.

    `requests` are what came, head and body; `connections` how many there were. With `close` each answer is a
    connection's last. A tunnel asked for by CONNECT leads to the port `tunnel`, if that is not 0.
    """

    def __init__(
        self, *answers: bytes, close: bool = False, tls: ssl.SSLContext | None = None, tunnel: int = 0
    ) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._close = close
        self._tls = tls
        self._tunnel = tunnel
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while (answer := await self._one(reader)) != HANG_UP:
                writer.write(answer)
                if self._tunnel and self.requests[-1].startswith(b"CONNECT"):
                    await self._pass_on(reader, writer)
                if self._close:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        self.requests.append(head + await reader.readexactly(int(length or 0)))
        return self.answers.pop(0)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._tunnel)
        self._writers.add(back)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()
