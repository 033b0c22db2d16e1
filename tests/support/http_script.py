"""An HTTP server on loopback, in the test's own event loop, that answers as a function tells it to."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Asked:
    """A request: `target` is its path with the query as it came, `path` and `query` are decoded."""

    method: str
    target: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


def as_json(value: object, status: int = 200) -> web.Response:
    """An answer."""
    return web.json_response(value, status=status)


Answerer = Callable[[Asked], web.Response | Awaitable[web.Response]]


class HttpScript:
    """The server; `seen` are the requests so far. Use it as an asynchronous context manager."""

    def __init__(self, answer: Answerer, *, tls: ssl.SSLContext | None = None, path: str = "") -> None:
        """With `path` it listens on a Unix socket."""
        self.answer = answer
        self.seen: list[Asked] = []
        self._tls = tls
        self._path = path
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.01)
        self.url = ""

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        if self._path:
            await web.UnixSite(self._runner, self._path).start()
        else:
            await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()
            self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        asked = Asked(
            request.method, request.raw_path, request.path, dict(request.query), request.headers, await request.read()
        )
        self.seen.append(asked)
        answer = self.answer(asked)
        return await answer if isinstance(answer, Awaitable) else answer


async def never(asked: Asked) -> web.Response:
    """The answer of a server that hangs."""
    await asyncio.Event().wait()
    raise AssertionError
