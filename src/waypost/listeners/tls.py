"""TLS between a TCP connection and what is spoken over it.

Not the event loop's own TLS: that keeps more than half a megabyte for each connection, and runs any number of
handshakes in one turn. Here an idle connection costs 20 KB, and a crowd of new clients takes turns.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

_RECORD: Final = 16384
# More than any handshake needs.
_MAX_UNREAD: Final = 65536
_HANDSHAKES_A_TURN: Final = 4


class Handshakes:
    """Lets the steps of handshakes, which cost a millisecond and more, take turns with answers.

    `failed` is told why a client could not be talked to.
    """

    __slots__ = ("_waiting", "failed")

    def __init__(self, failed: Callable[[str], None]) -> None:
        self.failed = failed
        self._waiting: dict[TlsStream, None] = {}

    def ask(self, stream: TlsStream) -> None:
        """It has got something to go on with."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._work)
        self._waiting[stream] = None

    def _work(self) -> None:
        for stream in list(self._waiting)[:_HANDSHAKES_A_TURN]:
            del self._waiting[stream]
            stream.shake_hands()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._work)


class TlsStream(asyncio.Protocol, asyncio.Transport):
    """The protocol of a TCP connection, and the transport of `inner`, which is told of the connection before the
    handshake: its clock runs from the start. What it wants to write before is dropped.
    """

    __slots__ = (
        "_context",
        "_ended",
        "_handshakes",
        "_incoming",
        "_inner",
        "_outgoing",
        "_paused",
        "_ready",
        "_tls",
        "_transport",
    )

    def __init__(self, inner: asyncio.Protocol, context: ssl.SSLContext, handshakes: Handshakes) -> None:
        super().__init__()
        self._inner = inner
        self._context = context
        self._handshakes = handshakes
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._transport: asyncio.Transport | None = None
        self._ready = False
        self._paused = False
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The TCP connection is gone."""
        self._transport = None
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Records, cut anywhere."""
        if self._ended:
            return
        self._incoming.write(data)
        if self._ready:
            self._deliver()
        elif self._incoming.pending > _MAX_UNREAD:
            self.abort()
        else:
            self._handshakes.ask(self)

    def eof_received(self) -> bool | None:
        """The client closed its side, with or without a farewell in TLS."""
        return self._inner.eof_received() if self._ready else None

    def pause_writing(self) -> None:
        """The client does not read."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It reads again."""
        self._inner.resume_writing()

    def shake_hands(self) -> None:
        """Go on with the handshake as far as what the client sent allows."""
        if self._transport is None or self._transport.is_closing() or self._ready:
            return
        if self._tls is None:
            self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as exc:
            self._fail(exc)
            return
        self._ready = True
        self._flush()
        self._deliver()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send."""
        if not self._ready or self._ended or self._tls is None:
            return
        left = memoryview(data)
        try:
            while left:
                left = left[self._tls.write(left) :]
        except ssl.SSLError:  # the session has failed, as reading will say
            self.abort()
            return
        self._flush()

    def can_write_eof(self) -> bool:
        """A side can be closed alone: the farewell, then FIN (RFC 8446 section 6.1)."""
        return True

    def write_eof(self) -> None:
        """Say farewell, and send no more; what still comes is thrown away."""
        self._say_farewell()
        if self._transport is not None:
            self._transport.write_eof()

    def close(self) -> None:
        """Send what is written, say farewell, close."""
        self._say_farewell()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._ended = True
        if self._transport is not None:
            self._transport.abort()

    def is_closing(self) -> bool:
        """True once it is closed, or about to be."""
        return self._transport is None or self._transport.is_closing()

    def is_reading(self) -> bool:
        """False while `inner` wants nothing."""
        return not self._paused

    def pause_reading(self) -> None:
        """Give `inner` nothing for now, and take nothing from the client."""
        self._paused = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on, with what is here already first."""
        if not self._paused:
            return
        self._paused = False
        if self._transport is not None:
            self._transport.resume_reading()
            asyncio.get_running_loop().call_soon(self._deliver)

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for the client, as they leave."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the TCP connection knows, and `ssl_object` once the handshake is done."""
        if name == "ssl_object":
            return self._tls if self._ready else default
        return self._transport.get_extra_info(name, default) if self._transport is not None else default

    def _deliver(self) -> None:
        """Give `inner` what has come, a record at a time, as long as it wants any."""
        while self._ready and not self._paused and not self._ended and self._tls is not None:
            try:
                data = self._tls.read(_RECORD)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                data = b""
            except ssl.SSLError as exc:
                self._fail(exc)
                return
            if not data:
                self._end()
                return
            self._inner.data_received(data)
        self._flush()

    def _end(self) -> None:
        """The client said farewell."""
        if not self._inner.eof_received():
            self.close()

    def _fail(self, error: ssl.SSLError) -> None:
        """Tell the client, by the alert that is waiting to go, and close."""
        self._handshakes.failed((error.reason or str(error)).replace("_", " ").lower())
        self._flush()
        self._ended = True
        if self._transport is not None:
            self._transport.close()

    def _say_farewell(self) -> None:
        if self._ready and not self._ended and self._tls is not None:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()
        self._ended = True

    def _flush(self) -> None:
        if self._outgoing.pending and self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._outgoing.read())
