"""One client's HTTP connection: which version it speaks, whose turn it is, and when it ends.

What arrives is taken in pieces, one a turn of the loop, so that a large read does not hold up the answers to others. A
client that does not read its answers is not read from. One timer ends silent connections, and those that take nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from waypost.dispatch.request import Address
from waypost.listeners.http import Asked, Codec, HttpRequest, HttpResponse, Peer, Service, Violation
from waypost.listeners.overload import discard
from waypost.listeners.owner import Owner

_PIECE: Final = 16_384
# How long a connection that we have half closed may go on sending.
_LINGER_SECONDS: Final = 1.0


class HttpConnection(asyncio.Protocol):
    """`choose` makes the codec from the protocol that TLS agreed on (None: none, or no TLS)."""

    __slots__ = (
        "_answered",
        "_awaited",
        "_backlog",
        "_begun",
        "_choose",
        "_client",
        "_codec",
        "_ended",
        "_finishing",
        "_left",
        "_local",
        "_owner",
        "_scheduled",
        "_service",
        "_since",
        "_timer",
        "_transport",
        "_writable",
    )

    def __init__(self, owner: Owner, service: Service, choose: Callable[[str | None], Codec]) -> None:
        self._owner = owner
        self._service = service
        self._choose = choose
        self._codec: Codec | None = None
        self._client: Address = ("", 0)
        self._local: Address | None = None
        self._transport: asyncio.Transport | None = None
        self._awaited: set[int] = set()
        self._backlog = bytearray()
        self._begun = False
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._left = 0
        self._answered = False
        self._writable = True
        self._finishing = False
        self._ended = False

    @property
    def busy(self) -> bool:
        """True if requests of it are not answered yet, or answers are held up by the client."""
        return bool(self._awaited) or (self._codec is not None and self._codec.unsent > 0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._owner.admit(self):
            transport.abort()
            return
        self._client = transport.get_extra_info("peername") or ("", 0)
        self._local = transport.get_extra_info("sockname")
        self._rest(self._owner.timeouts.read)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for the answers any more."""
        self._owner.forget(self)
        self._transport = None
        self._backlog.clear()
        self._awaited.clear()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take a piece now, and what is left of it in the next turns."""
        if self._ended:
            return
        self._backlog += data
        if not self._scheduled:
            self._work()

    def eof_received(self) -> bool:
        """The client will send no more: answer what it asked, then close."""
        self.finish()
        return True

    def pause_writing(self) -> None:
        """The client does not read: take nothing from it for now."""
        self._writable = False
        if self._transport is not None:
            self._left = self._unsent(self._transport)
            self._rest(self._owner.timeouts.write)
        self._read_on()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable = True
        self._work()

    def finish(self) -> None:
        """Close once every whole request is answered."""
        self._finishing = True
        if self._codec is not None:
            self._codec.say_goodbye()
        self._settle()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _work(self) -> None:
        """Take the next piece of what has arrived."""
        self._scheduled = False
        transport = self._transport
        if transport is None or self._ended or not self._may_read():
            return
        piece = bytes(self._backlog[:_PIECE])
        if not piece and self._codec is None:
            return
        del self._backlog[:_PIECE]
        try:
            self._take(transport, piece)
        except Violation as exc:
            self._violated(exc)
            return
        self._settle()
        if self._backlog and not self._scheduled and self._may_read():
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._work)

    def _take(self, transport: asyncio.Transport, piece: bytes) -> None:
        codec = self._codec
        if codec is None:
            tls = transport.get_extra_info("ssl_object")
            codec = self._codec = self._choose(tls.selected_alpn_protocol() if tls is not None else None)
            if self._finishing:
                codec.say_goodbye()
        for event in codec.receive(piece, asyncio.get_running_loop().time()):
            if isinstance(event, Asked):
                self._answer(codec, event.stream, event.request)
            else:
                self._awaited.discard(event.stream)
        if codec.incomplete and not self._begun:
            self._since = asyncio.get_running_loop().time()
        self._begun = codec.incomplete

    def _answer(self, codec: Codec, stream: int, request: HttpRequest) -> None:
        server, owner = self._owner.server, self._owner
        assert server is not None
        self._answered = True
        self._since = asyncio.get_running_loop().time()
        answer = self._service.respond(request, server, Peer(self._client, self._local))
        if isinstance(answer, HttpResponse):
            codec.send(stream, answer)
        elif owner.limits.waiting and owner.waiting >= owner.limits.waiting:
            discard(answer)
            codec.send(stream, self._service.overloaded)
        else:
            owner.waiting += 1
            self._awaited.add(stream)
            task = asyncio.get_running_loop().create_task(self._answer_later(codec, stream, answer))
            server.waiting.add(task)

    async def _answer_later(self, codec: Codec, stream: int, waiting: Awaitable[HttpResponse]) -> None:
        """An answer that nobody waits for any more is worked out all the same: others may wait for the same data."""
        try:
            response = await waiting
        except Exception:
            self.abort()
            raise
        finally:
            self._owner.waiting -= 1
        if stream not in self._awaited or self._ended:
            return
        self._awaited.remove(stream)
        self._since = asyncio.get_running_loop().time()
        try:
            codec.send(stream, response)
        except Violation as exc:
            self._violated(exc)
            return
        self._work()
        self._settle()

    def _settle(self) -> None:
        """Send what is to go out; then read on, or close."""
        transport, codec = self._transport, self._codec
        if transport is None or self._ended:
            return
        if codec is None:
            if self._finishing:
                transport.close()
            return
        if data := codec.data_to_send():
            transport.write(data)
        if self._transport is None or self.busy:
            self._read_on()
        elif codec.closing:
            self._end(transport)
        elif self._finishing and not self._backlog:
            transport.close()
        else:
            self._read_on()

    def _read_on(self) -> None:
        if self._transport is None:
            return
        if self._may_read() and not self._backlog:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _may_read(self) -> bool:
        return self._writable and (not self._awaited or self._codec is None or self._codec.parallel)

    def _violated(self, violation: Violation) -> None:
        """Say so, to the client and, now and then, to the log."""
        server, transport, codec = self._owner.server, self._transport, self._codec
        if server is not None:
            server.log.once_a_burst(server.log.warning, f"{server.label}: {violation}")
        if transport is not None and codec is not None:
            transport.write(codec.data_to_send())
            self._end(transport)

    def _end(self, transport: asyncio.Transport) -> None:
        """Half close, and give the client a moment to do the same: closing with unread data would reset the answer."""
        self._finishing = self._ended = True
        self._backlog.clear()
        self._awaited.clear()
        with suppress(OSError):
            if transport.can_write_eof():
                transport.write_eof()
                transport.resume_reading()
                self._rest(_LINGER_SECONDS)
                return
        transport.close()

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
        now = asyncio.get_running_loop().time()
        left = self._unsent(transport)
        if left != self._left or self._awaited:
            self._left, self._since = left, now
        seconds = self._since + self._patience(left) - now
        if seconds > 0:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._check)
        elif left or self._ended or self._codec is None:
            transport.abort()
        else:
            self._codec.say_goodbye()
            transport.write(self._codec.data_to_send())
            self._end(transport)

    def _unsent(self, transport: asyncio.Transport) -> int:
        return transport.get_write_buffer_size() + (self._codec.unsent if self._codec is not None else 0)

    def _patience(self, left: int) -> float:
        timeouts = self._owner.timeouts
        if left:
            return timeouts.write
        if self._ended:
            return _LINGER_SECONDS
        begun = self._codec is not None and self._codec.incomplete
        return timeouts.read if begun or not self._answered else timeouts.idle
