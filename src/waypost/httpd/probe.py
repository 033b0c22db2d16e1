"""One HTTP request to ourselves: cheap enough for every second, and it takes the way that a kubelet's probe takes."""

from __future__ import annotations

import asyncio

_MAX_STATUS_LINE = 1024


async def get(host: str, port: int, path: str, seconds: float) -> int:
    """The status of `GET path`. Raises OSError, also when it takes longer or for an answer that is not HTTP."""
    async with asyncio.timeout(seconds):
        reader, writer = await asyncio.open_connection(host, port, limit=_MAX_STATUS_LINE)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            line = await reader.readline()
        except ValueError as exc:
            raise OSError("malformed HTTP response") from exc
        finally:
            writer.close()
    words = line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise OSError("malformed HTTP response")
    return int(words[1])
