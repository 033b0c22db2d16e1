"""Requests to an HTTP API that several servers offer: the next one is asked when one does not answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from waypost.corefile.errors import CorefileError
from waypost.corefile.quoting import quote
from waypost.toolkit.http_client import HttpClient, Way
from waypost.toolkit.http_connection import Answer as Incoming
from waypost.toolkit.http_errors import HttpError, transport_error_text

_MAX_CONNECTIONS: Final = 100
_MAX_BODY: Final = 16 * 1024 * 1024
_SHOWN: Final = 200
_UNIX: Final = "unix://"


class ApiError(Exception):
    """No server answered, or what it answered is of no use; `str()` says what happened."""


class Endpoint(NamedTuple):
    """A server: `http://HOST:PORT` or `https://`, without a final slash, and over a Unix socket the path of that."""

    url: str
    socket: str = ""


class Answer(NamedTuple):
    """What a server answered, with a status below 500."""

    status: int
    body: bytes

    @property
    def excerpt(self) -> str:
        """The beginning of the body, for messages."""
        return excerpt(self.body)


class HttpApi:
    """The servers of one API. `open` and `close` it in a running event loop; `patience` is seconds for one request.

    The server that answered last is asked first; patience is shared among those that are left.
    """

    __slots__ = ("_current", "_endpoints", "_headers", "_http", "_patience", "_slots")

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        headers: Mapping[str, str],
        patience: float,
        tls: ssl.SSLContext | None = None,
        hostname: str = "",
    ) -> None:
        """`hostname` is the name that a certificate must have, if it is not the URL's."""
        self._endpoints = tuple((endpoint.url, Way(tls, hostname, socket=endpoint.socket)) for endpoint in endpoints)
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._patience = patience
        self._current = 0
        self._http: HttpClient | None = None
        self._slots: tuple[asyncio.Semaphore, ...] = ()

    def open(self) -> None:
        """Be ready for requests; connects to nobody yet."""
        self._http = HttpClient(self._patience)
        self._slots = tuple(asyncio.Semaphore(_MAX_CONNECTIONS) for _ in self._endpoints)

    async def close(self) -> None:
        """End every request."""
        if self._http is not None:
            await self._http.close()

    async def request(
        self, method: str, target: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to a request for `target`, a path with its query, encoded. Raises ApiError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        order = [(self._current + n) % len(self._endpoints) for n in range(len(self._endpoints))]
        error = ApiError("not connected")
        for left, number in zip(range(len(order), 0, -1), order, strict=True):
            url = self._endpoints[number][0] + target
            try:
                async with asyncio.timeout((deadline - loop.time()) / left):
                    answer = await self._send(number, method, url, body, headers or {})
            except (HttpError, OSError, ValueError) as exc:
                error = ApiError(f'{method} "{url}": {transport_error_text(exc)}')
                continue
            if answer.status < 500:
                self._current = number
                return answer
            error = ApiError(f'{method} "{url}": status {answer.status}: {answer.excerpt}')
        raise error

    async def _send(self, number: int, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        assert self._http is not None
        way = self._endpoints[number][1]
        async with (
            self._slots[number],
            await self._http.send(method, url, {**self._headers, **headers}, body or b"", way) as answer,
        ):
            return Answer(answer.status, await _read(answer))


async def _read(answer: Incoming) -> bytes:
    parts = []
    size = 0
    async for part in answer.parts(None):
        size += len(part)
        if size > _MAX_BODY:
            raise ValueError(f"an answer of more than {_MAX_BODY} bytes")
        parts.append(part)
    return b"".join(parts)


def endpoint_of(text: str, scheme: str = "http", *, unix: bool = False) -> Endpoint:
    """From `http://HOST:PORT`, `https://HOST:PORT`, `HOST:PORT` (by `scheme`), with `unix` also `unix://PATH`.

    Raises CorefileError.
    """
    if unix and text.startswith(_UNIX) and text != _UNIX:
        return Endpoint("http://localhost", text.removeprefix(_UNIX))
    try:
        parts = urlsplit(text if "://" in text else f"{scheme}://{text}")
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        fine = False
    if not fine or parts.path.strip("/") or parts.query or parts.fragment:
        forms = f"http://HOST:PORT, https://HOST:PORT{', unix://PATH' if unix else ''} or HOST:PORT"
        raise CorefileError.unlocated(f"{quote(text)} is no address of an API: expected {forms}")
    return Endpoint(f"{parts.scheme}://{parts.netloc}")


def excerpt(body: bytes) -> str:
    """The beginning of a body as text on one line."""
    return " ".join(body[:_SHOWN].decode("utf-8", "replace").split())
