"""One client's connection (RFC 7766): length-framed messages, answered in the order they came.

A client that is ahead of us (a query waits, or it does not read its answers) is not read from until it has caught up,
so that it fills its own buffers and not ours. Answers to what arrived in one read leave in one write. One timer ends
silent connections, and those that take no answers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from waypost.dispatch.ahead import Messages
from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.listeners.owner import Owner

# How long a connection that we have half closed may go on sending.
_LINGER_SECONDS = 1.0


class TcpConnection(asyncio.Protocol):
    """One client's connection.

    It is reading, then perhaps finishing (what arrived is answered, then it closes), then perhaps ended (half closed:
    what still comes is read and thrown away, for closing with unread data would reset it under the last answer).
    """

    __slots__ = (
        "_buffer",
        "_client",
        "_ended",
        "_finishing",
        "_frame",
        "_local",
        "_owner",
        "_pending",
        "_queries",
        "_since",
        "_task",
        "_timer",
        "_transport",
        "_unsent",
        "_writable",
    )

    def __init__(self, owner: Owner, frame: Callable[[Messages], bytes] | None = None) -> None:
        """`frame` makes a piece of the stream of an answer; `framed`, if it is not given."""
        self._owner = owner
        self._frame = frame or framed
        self._buffer = bytearray()
        self._pending: deque[bytes] = deque()
        self._client: Address = ("", 0)
        self._local: Address | None = None
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable = True
        self._finishing = False
        self._ended = False
        self._queries = 0
        self._since = 0.0
        self._unsent = 0

    @property
    def busy(self) -> bool:
        """True if queries of it are not answered yet."""
        return self._task is not None or bool(self._pending)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first query."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._owner.admit(self):
            transport.abort()
            return
        self._client = transport.get_extra_info("peername") or ("", 0)
        self._local = transport.get_extra_info("sockname")
        self._rest(self._owner.timeouts.read)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what was not answered."""
        self._owner.forget(self)
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Take whole messages out of the stream and answer them."""
        if self._finishing:
            return
        buffer = self._buffer
        buffer += data
        start, size = 0, len(buffer)
        while size - start >= 2:
            length = buffer[start] << 8 | buffer[start + 1]
            if size - start - 2 < length:
                break
            if length >= 12:
                self._pending.append(bytes(buffer[start + 2 : start + 2 + length]))
            start += 2 + length
        if start:
            del buffer[:start]
            if self._queries:
                self._since = asyncio.get_running_loop().time()
            else:  # from now on another time holds, and it may be the shorter one
                self._rest(self._owner.timeouts.idle)
            self._answer()

    def eof_received(self) -> bool:
        """The client will send no more: answer what it asked, then close."""
        self.finish()
        return True

    def pause_writing(self) -> None:
        """The client does not read: answer no more for now, and look soon whether it has begun to."""
        self._writable = False
        if self._transport is not None:
            self._unsent = self._transport.get_write_buffer_size()
            self._rest(self._owner.timeouts.write)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable = True
        self._answer()

    def finish(self) -> None:
        """Close once everything that arrived is answered."""
        self._finishing = True
        if not self.busy and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        """Answer pending messages in order, up to the first that must wait."""
        server = self._owner.server
        assert server is not None
        limit = self._owner.timeouts.max_queries
        out: list[bytes] = []
        while self._pending and self._task is None and self._writable:
            answer = server.serve(self._pending.popleft(), self._client, False, self._local)
            self._queries += 1
            if isinstance(answer, bytes | tuple):
                out.append(self._frame(answer))
            elif answer is not None:
                self._wait(server, answer)
            if 0 < limit <= self._queries:
                self._pending.clear()
        transport = self._transport
        if transport is None:
            return
        if out:
            transport.write(b"".join(out))
        if self.busy:
            transport.pause_reading()
        elif self._finishing:
            transport.close()
        elif 0 < limit <= self._queries:
            self._end(transport)
        else:
            self._since = asyncio.get_running_loop().time()
            transport.resume_reading()

    def _wait(self, server: Server, answer: Awaitable[Messages]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._write_later(answer))
        server.waiting.add(self._task)

    async def _write_later(self, waiting: Awaitable[Messages]) -> None:
        try:
            answer = await waiting
        except Exception:
            self.abort()
            raise
        finally:
            self._task = None
        if answer is not None and self._transport is not None:
            self._transport.write(self._frame(answer))
        self._answer()

    def _end(self, transport: asyncio.Transport) -> None:
        """Half close, and give the client a moment to do the same."""
        self._finishing = self._ended = True
        if not transport.can_write_eof():  # TLS has no half close
            transport.close()
            return
        try:
            transport.write_eof()
        except OSError:  # the client is gone already
            transport.close()
            return
        transport.resume_reading()
        self._rest(_LINGER_SECONDS)

    def _rest(self, seconds: float) -> None:
        """Look again after this long."""
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._check)

    def _check(self) -> None:
        """End the connection if it was silent, or took nothing of its answers, for as long as it may."""
        transport = self._transport
        if transport is None:
            return
        loop = asyncio.get_running_loop()
        unsent = transport.get_write_buffer_size()
        if unsent != self._unsent or self._task is not None:
            self._unsent = unsent
            self._since = loop.time()
        left = self._since + self._patience(unsent) - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._check)
        elif unsent or self._finishing:
            transport.abort()
        else:
            self._end(transport)

    def _patience(self, unsent: int) -> float:
        timeouts = self._owner.timeouts
        if unsent:
            return timeouts.write
        if self._ended:
            return _LINGER_SECONDS
        return timeouts.idle if self._queries else timeouts.read


def framed(answer: Messages) -> bytes:
    """Messages with their two-byte lengths (RFC 1035 section 4.2.2)."""
    if isinstance(answer, bytes):
        return len(answer).to_bytes(2, "big") + answer
    return b"".join(len(message).to_bytes(2, "big") + message for message in answer or ())
