"""One connection of an HTTP/1.1 client (RFC 9112): a request, its answer, then the next. llhttp (httptools) parses."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Final, Self

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from waypost.toolkit.http_errors import HttpError, lost_error

_MAX_HEAD: Final = 64 * 1024
_HIGH_WATER: Final = 64 * 1024
"""Bytes of a body that wait to be read before the server is held back."""
_PIECE: Final = 256 * 1024
"""Bytes that are decompressed at once."""
_GZIP: Final = 16 + zlib.MAX_WBITS


def encode_head(first: str, headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> bytes:
    """A message's head: its first line, and its fields. Raises ValueError for what would be more than one line."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [first, *(f"{name}: {value}" for name, value in pairs)]
    if any(bad in line for line in lines for bad in "\r\n\0"):
        raise ValueError("a line break in a header field")
    return "\r\n".join((*lines, "", "")).encode()


class Connection(asyncio.Protocol):
    """Carries one request at a time; `lost` is done once it has ended."""

    __slots__ = ("_answer", "lost", "transport")

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer: Answer | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected, and TLS is agreed on."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Some of the answer; what nobody asked for ends the connection."""
        if self._answer is None or self._answer.whole:
            self.close()
        else:
            self._answer.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        if not self.lost.done():
            self.lost.set_result(None)
        if self._answer is not None:
            self._answer.ended(exc)

    async def send(self, request: bytes, done: Callable[[Connection], None]) -> Answer:
        """The answer to an encoded request, once its head is here. Raises HttpError.

        `done` is called when the connection is free for the next request.
        """
        answer = self._answer = Answer(self, done)
        self.transport.write(request)
        try:
            await answer.begun()
        except BaseException:
            self.close()
            raise
        return answer

    def leave(self) -> None:
        """What comes from now on is somebody else's: the last answer opened a tunnel."""
        self._answer = None

    def close(self) -> None:
        """End it at once."""
        self.transport.abort()


class Answer:
    """What comes back for a request: status, fields by their lower-case names, then the body in parts.

    Leaving it as an asynchronous context manager gives the connection back, or ends it if the body is not whole.
    """

    __slots__ = (
        "_changed", "_connection", "_done", "_error", "_head", "_kept", "_parser", "_parts", "_released", "_waiting",
        "headers", "status", "whole",
    )  # fmt: skip

    def __init__(self, connection: Connection, done: Callable[[Connection], None]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.whole = False
        self._connection = connection
        self._done = done
        self._parser = HttpResponseParser(self)
        self._head = 0
        self._parts: list[bytes] = []
        self._waiting = 0
        self._kept = False
        self._released = False
        self._error: HttpError | None = None
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Nothing more is read."""
        if self._released:
            return
        self._released = True
        if self.whole and self._kept:
            self._connection.transport.resume_reading()
            self._done(self._connection)
        else:
            self._connection.close()

    async def begun(self) -> None:
        """Wait for status and fields. Raises HttpError."""
        while not self.status:
            await self._wait(None)

    async def parts(self, patience: float | None) -> AsyncGenerator[bytes, None]:
        """The body, decompressed, as it comes. Raises HttpError, and TimeoutError after seconds of silence."""
        coding = self.headers.get("content-encoding", "identity").lower()
        if coding not in ("identity", "gzip", "x-gzip"):
            raise HttpError(f"an answer in the coding {coding!r:.40}")
        unpack = Gunzip() if coding != "identity" else None
        while part := await self._part(patience):
            if unpack is None:
                yield part
            else:
                for piece in unpack.feed(part):
                    yield piece
        if unpack is not None and not unpack.whole:
            raise HttpError("unexpected EOF")

    async def _part(self, patience: float | None) -> bytes:
        """What has come since, empty at the end."""
        while not self._parts and not self.whole:
            await self._wait(patience)
        part = b"".join(self._parts)
        self._parts.clear()
        if self._waiting > _HIGH_WATER:
            self._connection.transport.resume_reading()
        self._waiting = 0
        return part

    async def _wait(self, patience: float | None) -> None:
        if self._error is not None:
            raise self._error
        self._changed.clear()
        async with asyncio.timeout(patience):
            await self._changed.wait()

    def feed(self, data: bytes) -> None:
        """Bytes of the answer."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as exc:
            self._fail(HttpError(f"malformed HTTP response: {exc}"))
            return
        if not self.status:
            self._head += len(data)
            if self._head > _MAX_HEAD:
                self._fail(HttpError(f"malformed HTTP response: a head of more than {_MAX_HEAD} bytes"))
        elif self._waiting > _HIGH_WATER:
            self._connection.transport.pause_reading()

    def ended(self, exc: Exception | None) -> None:
        """The connection has ended: the last byte of a body whose length nobody said (RFC 9112, 6.3), or too early."""
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers
        if self.status and not framed and exc is None:
            self.whole = True
            self._changed.set()
        elif not self.whole:
            self._fail(lost_error(exc, answering=bool(self.status)))

    def _fail(self, error: HttpError) -> None:
        self._error = self._error or error
        self._changed.set()
        self._connection.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field; those after the body mean nothing to us."""
        if not self.status:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """The head is whole. An interim answer (100 to 199) announces another one."""
        status = self._parser.get_status_code()
        if status < 200:
            self.headers.clear()
        elif not self.status:
            self.status = status
            self._changed.set()

    def on_body(self, data: bytes) -> None:
        """Some of the body."""
        if not self.whole:
            self._parts.append(data)
            self._waiting += len(data)
            self._changed.set()

    def on_message_complete(self) -> None:
        """The answer is whole."""
        if self.status and not self.whole:
            self.whole = True
            self._kept = bool(self._parser.should_keep_alive())
            self._changed.set()

    def on_message_begin(self) -> None:
        """An answer begins; a second one was not asked for."""
        if self.whole:
            self._kept = False


class Gunzip:
    """Decompresses gzip (RFC 1952), in pieces of a bounded size. `whole` is true where it may end."""

    __slots__ = ("_stream", "whole")

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP)
        self.whole = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What `data` adds. Raises HttpError."""
        piece = b""
        while data or len(piece) == _PIECE:  # a full piece: there may be more to come of what was fed
            if self.whole:  # a new member
                self._stream = zlib.decompressobj(_GZIP)
            try:
                piece = self._stream.decompress(data, _PIECE)
            except zlib.error as exc:
                raise HttpError(f"gzip: {exc}") from exc
            self.whole = self._stream.eof
            data = self._stream.unused_data if self.whole else self._stream.unconsumed_tail
            if piece:
                yield piece
            if self.whole:
                piece = b""
