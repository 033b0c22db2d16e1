"""One connection of the HTTP server: requests parsed by llhttp (httptools), answered one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote_to_bytes

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url

from waypost.httpd.message import FAULT, PLAIN, HttpRequest, HttpResponse
from waypost.toolkit.http_connection import encode_head

_MAX_LINE: Final = 8190
_MAX_HEADERS: Final = 64
_MAX_HEAD: Final = 64 * 1024
_LINGER_SECONDS: Final = 1.0
_BAD_REQUEST: Final = HttpResponse(400, PLAIN, b"400 bad request\n")
_NO_BODY: Final = frozenset((204, 304))

Handle = Callable[[HttpRequest], Awaitable[HttpResponse]]


class Headers(Mapping[str, str]):
    """Fields of a request, which are looked up in any case."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        """`values` by lower-case names."""
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class HttpConnection(asyncio.Protocol):
    """Answers with what `handle` gives, and is in `connections` while it is open; bodies are read and dropped.

    `idle` is how many seconds it waits for the next request's head.
    """

    __slots__ = (
        "_asked", "_connections", "_count", "_fields", "_handle", "_head", "_idle", "_parser", "_readable", "_task",
        "_timer", "_transport", "_url", "_writable",
    )  # fmt: skip

    _transport: asyncio.Transport

    def __init__(self, handle: Handle, connections: set[HttpConnection], idle: float) -> None:
        self._handle = handle
        self._connections = connections
        self._idle = idle
        self._parser = HttpRequestParser(self)
        self._readable = True
        self._writable = asyncio.Event()
        self._writable.set()
        self._asked: deque[tuple[HttpRequest | None, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has come."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone; what is being done for them is done all the same."""
        self._connections.discard(self)
        self._readable = False
        self._asked.clear()
        self._writable.set()
        self._stop_timer()

    def pause_writing(self) -> None:
        """The client reads slowly: the next answer waits."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has read."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Bytes of requests."""
        if not self._readable:
            return
        self._head += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:  # no: the answer is HTTP/1.1, and the last one
            self._readable = False
            if self._asked:
                self._asked.append((self._asked.pop()[0], False))
        except HttpParserError:
            self._refuse()
        else:
            if self._head > _MAX_HEAD:
                self._refuse()

    def _refuse(self) -> None:
        self._readable = False
        self._ask(None, kept=False)

    def _ask(self, request: HttpRequest | None, *, kept: bool) -> None:
        self._stop_timer()
        self._asked.append((request, kept))
        self._transport.pause_reading()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer())

    async def _answer(self) -> None:
        """Everything that was asked, in its order."""
        kept = True
        try:
            while self._asked and kept:
                request = self._asked[0][0]
                response = _BAD_REQUEST if request is None else await self._handle(request)
                await self._writable.wait()
                if not self._asked:  # they have gone
                    return
                kept = self._asked.popleft()[1]
                self._transport.write(_encoded(request, response, kept=kept))
        finally:
            self._task = None
        self._transport.resume_reading()
        if kept:
            self._await_head()
        else:
            self._end()

    def _await_head(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._idle, self.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        """Close once the client has: what it still sends is dropped, for a while, so that it can read the answer."""
        self._readable = False
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._timer = asyncio.get_running_loop().call_later(_LINGER_SECONDS, self.close)

    def close(self) -> None:
        """End it at once."""
        self._transport.abort()

    async def finish(self, seconds: float) -> None:
        """End it after the answer that is being made, if that takes no longer."""
        if self._task is not None:
            self._asked = deque((request, False) for request, _ in list(self._asked)[:1])
            await asyncio.wait((self._task,), timeout=seconds)
        if self._task is not None:
            self._task.cancel()
        self.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._url = b""
        self._fields: dict[str, str] = {}
        self._count = 0
        self._head = 0

    def on_url(self, url: bytes) -> None:
        """Some of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head, or one after the body."""
        self._count += 1
        if len(name) + len(value) > _MAX_LINE or self._count > _MAX_HEADERS:
            raise ValueError("too large a head")
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._fields[key] = f"{self._fields[key]}, {text}" if key in self._fields else text

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if len(self._url) > _MAX_LINE:
            raise ValueError("too long a target")
        self._stop_timer()
        if self._fields.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Some of a body, which nobody reads."""
        self._head = 0

    def on_message_complete(self) -> None:
        """The request is whole."""
        target = parse_url(self._url)
        path = unquote_to_bytes(target.path or b"/").decode("utf-8", "replace")
        query = (target.query or b"").decode("latin-1")
        method = self._parser.get_method().decode("latin-1")
        kept = bool(self._parser.should_keep_alive())
        self._ask(HttpRequest(method, path, query, Headers(self._fields)), kept=kept)
        self._head = 0


def _encoded(request: HttpRequest | None, response: HttpResponse, *, kept: bool) -> bytes:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    fields = {
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "Date": formatdate(usegmt=True),
        "Server": "waypost",
        "Connection": "keep-alive" if kept else "close",
        **dict(response.headers),
    }
    try:
        head = encode_head(f"HTTP/1.1 {response.status} {phrase}", fields)
    except ValueError:
        return _encoded(request, FAULT, kept=kept)
    bare = (request is not None and request.method == "HEAD") or response.status in _NO_BODY
    return head if bare else head + response.body
