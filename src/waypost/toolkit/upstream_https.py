"""One HTTP/2 connection to an upstream that speaks DNS over HTTPS or gRPC; the extras `doh` and `grpc` bring the
library."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from waypost.toolkit.exchange import ExchangeSettings
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_dial import DIAL_TIMEOUT, dial
from waypost.toolkit.upstream_doh import DohExchange, Headers, authority, request
from waypost.toolkit.upstream_errors import ConnectionLost, UpstreamError, ends_text, same_error, transfer
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_multiplexed import MultiplexedClient
from waypost.toolkit.upstream_pool import OnChange
from waypost.wire.message import Message
from waypost.wire.query import Query

ALPN = ("h2",)
_CONNECTION_WINDOW = 1 << 20
_STREAM_WINDOW = 1 << 17
# Far below where the numbers of streams end.
_MAX_STREAM = 1 << 30


def https_client(
    address: UpstreamAddress, tls: ssl.SSLContext, settings: ExchangeSettings, cache: SocketCache
) -> MultiplexedClient:
    """A client; `tls` must offer `ALPN`."""

    host = authority(address)

    def begin(query: Query, tail: bytes, answer: asyncio.Future[Message]) -> tuple[Headers, HttpExchange]:
        headers, body = request(settings.doh_method, host, b"\0\0" + tail)  # id 0: RFC 8484 section 4.1
        return headers, DohExchange(query, answer, body)

    def connect(timeout: float, on_idle: OnChange, on_closed: OnChange) -> HttpsConnection:
        connection = HttpsConnection(address, begin, timeout, on_idle, on_closed)
        connection.open(tls, settings.source)
        return connection

    return MultiplexedClient(address, connect, settings.pool_limits, cache)


class HttpExchange(Protocol):
    """One request and what has come of its response. `unsent` is what of the body must wait for the peer."""

    answer: asyncio.Future[Message]
    unsent: bytes

    def begin(self, headers: Iterable[tuple[bytes, bytes]]) -> UpstreamError | None:
        """Take the response's headers; an error if they are not those of a reply."""
        ...

    def feed(self, data: bytes) -> UpstreamError | None:
        """Take a piece of the body; an error if there is more than a message can be."""
        ...

    def trail(self, headers: Iterable[tuple[bytes, bytes]]) -> UpstreamError | None:
        """Take the header fields behind the body; an error if they say that it is of no use."""
        ...

    def reply(self) -> Message | UpstreamError:
        """The reply, once the response is complete."""
        ...

    def settle(self, result: Message | UpstreamError) -> None:
        """End the wait, unless it was given up."""
        ...


Begin = Callable[[Query, bytes, asyncio.Future[Message]], tuple[Headers, HttpExchange]]
"""Makes of a query, its message behind the id, and who waits a request's headers and its exchange."""


class HttpsConnection(asyncio.Protocol):
    """A `PooledConnection`: a stream for each query, as many at a time as the server allows. `open` connects."""

    def __init__(
        self, address: UpstreamAddress, begin: Begin, timeout: float, on_idle: OnChange, on_closed: OnChange
    ) -> None:
        self.load = 0
        self.answered = False
        self.retired = False
        self._address = address
        self._begin = begin
        self._timeout = timeout
        self._on_idle = on_idle
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self.born = self.idle_since = self._heard = self._loop.time()
        self._http = _http2()
        self._exchanges: dict[int, HttpExchange] = {}
        self._transport: asyncio.Transport | None = None
        self._ready = asyncio.Event()
        self._room = asyncio.Event()
        self._error: UpstreamError | None = None
        self._dialling: asyncio.Task[None] | None = None

    def open(self, tls: ssl.SSLContext | None, source: str) -> None:
        """Begin to connect."""
        self._dialling = self._loop.create_task(self._dial(tls, source))

    async def ask(self, query: Query, tail: bytes) -> Message:
        """Send a query, and wait for the reply. Raises UpstreamError."""
        self.load += 1
        started = self._loop.time()
        stream = 0
        try:
            await self._ready.wait()
            await self._wait_for_room()
            if self._error is not None:
                raise same_error(self._error)
            stream, started = self._send(query, tail), self._loop.time()
            return await self._exchanges[stream].answer
        except asyncio.CancelledError:
            # A connection on which nothing at all was heard while a query waited is as good as dead.
            if self._heard <= started and self._loop.time() - started >= self._timeout / 2:
                self.retired = True
            raise
        finally:
            if stream in self._exchanges:
                self._end(stream, early=True)
            self.load -= 1
            if not self.load:
                self.idle_since = self._loop.time()
                self._on_idle(self)

    def close(self, error: UpstreamError | None = None) -> None:
        """Close; queries that wait fail with `error`."""
        if self._error is None:
            self._error = error or ConnectionLost(f"{self._address}: closed")
            self.retired = True
            exchanges, self._exchanges = self._exchanges, {}
            for exchange in exchanges.values():
                exchange.settle(same_error(self._error))
            self._ready.set()
            self._room.set()
            self._on_closed(self)
        if self._dialling is not None:
            self._dialling.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak HTTP/2; the server's settings have to come before the first query goes."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._error is not None:
            transport.abort()
            return
        tls = transport.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() != ALPN[0]:
            self.close(UpstreamError(f"{self._address.scheme}://{self._address}: the server does not speak HTTP/2"))
            return
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_CONNECTION_WINDOW)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer closed or reset it, or we did."""
        if isinstance(exc, OSError):
            self.close(transfer("read", "tcp", self._ends(), exc))
        else:
            self.close(ConnectionLost("EOF"))
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Frames, cut anywhere."""
        self._heard = self._loop.time()
        if self._error is not None:
            return
        try:
            for event in self._http.receive_data(data):
                handle = _HANDLERS.get(type(event))
                if handle is not None:
                    handle(self, event)
            self._flush()
        except ProtocolError as exc:  # frames behind a GOAWAY count as such, too
            self._flush()
            self.close(ConnectionLost(f"{self._address.scheme}://{self._address}: {exc or type(exc).__name__}"))

    async def _wait_for_room(self) -> None:
        while self._error is None and len(self._exchanges) >= self._http.remote_settings.max_concurrent_streams:
            self._room.clear()
            await self._room.wait()

    def _send(self, query: Query, tail: bytes) -> int:
        """Begin a stream; gives its number."""
        headers, exchange = self._begin(query, tail, self._loop.create_future())
        try:
            stream = self._http.get_next_available_stream_id()
            self._http.send_headers(stream, headers, end_stream=not exchange.unsent)
            self._exchanges[stream] = exchange
            self._send_body(stream, exchange)
        except ProtocolError as exc:
            self.retired = True
            raise UpstreamError(f"{self._address.scheme}://{self._address}: {exc}") from exc
        self.retired = self.retired or stream >= _MAX_STREAM
        self._flush()
        return stream

    def _send_body(self, stream: int, exchange: HttpExchange) -> None:
        """As much as the peer has room for."""
        while exchange.unsent:
            room = min(self._http.local_flow_control_window(stream), self._http.max_outbound_frame_size)
            if room <= 0:
                return
            piece, exchange.unsent = exchange.unsent[:room], exchange.unsent[room:]
            self._http.send_data(stream, piece, end_stream=not exchange.unsent)

    def _flush(self) -> None:
        if self._transport is not None and (data := self._http.data_to_send()):
            self._transport.write(data)

    def _end(self, stream: int, *, early: bool = False) -> None:
        """A stream is over; `early` if the server may still send on it, or has not read all that was sent."""
        exchange = self._exchanges.pop(stream)
        if early or exchange.unsent:
            with suppress(ProtocolError):
                self._http.reset_stream(stream, ErrorCodes.CANCEL)
                self._flush()
        self._room.set()

    def _refuse(self, stream: int, error: UpstreamError | None) -> None:
        """End an exchange whose response is of no use, without its rest."""
        if error is not None:
            self._exchanges[stream].settle(error)
            self._end(stream, early=True)

    def _on_headers(self, event: events.ResponseReceived) -> None:
        self.answered = True
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            self._refuse(event.stream_id, exchange.begin(event.headers))

    def _on_trailers(self, event: events.TrailersReceived) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            self._refuse(event.stream_id, exchange.trail(event.headers))

    def _on_data(self, event: events.DataReceived) -> None:
        self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            self._refuse(event.stream_id, exchange.feed(event.data))

    def _on_end(self, event: events.StreamEnded) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.settle(exchange.reply())
            self._end(event.stream_id)

    def _on_reset(self, event: events.StreamReset) -> None:
        exchange = self._exchanges.pop(event.stream_id, None)
        if exchange is not None:
            exchange.settle(UpstreamError(f"{self._address.scheme}://{self._address}: stream reset by the server"))
            self._room.set()

    def _on_goaway(self, event: events.ConnectionTerminated) -> None:
        self.close(ConnectionLost(f"{self._address.scheme}://{self._address}: connection ended by the server"))

    def _on_window(self, event: events.Event) -> None:
        """The peer has room, at first or again."""
        for stream, exchange in list(self._exchanges.items()):
            self._send_body(stream, exchange)
        self._room.set()
        self._ready.set()

    async def _dial(self, tls: ssl.SSLContext | None, source: str) -> None:
        error: UpstreamError | None = None
        try:
            await dial(lambda: self, self._address, tls, source, DIAL_TIMEOUT)
        except UpstreamError as exc:
            error = exc
        self._dialling = None
        if error is not None:
            self.close(error)

    def _ends(self) -> str:
        local: Any = self._transport.get_extra_info("sockname") if self._transport is not None else None
        return ends_text(local or ("", 0), str(self._address))


def _http2() -> H2Connection:
    http = H2Connection(H2Configuration(client_side=True))
    values = {SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW}
    http.local_settings = Settings(client=True, initial_values=values)
    return http


_HANDLERS: dict[type[events.Event], Callable[[HttpsConnection, Any], None]] = {
    events.ResponseReceived: HttpsConnection._on_headers,
    events.DataReceived: HttpsConnection._on_data,
    events.TrailersReceived: HttpsConnection._on_trailers,
    events.StreamEnded: HttpsConnection._on_end,
    events.StreamReset: HttpsConnection._on_reset,
    events.ConnectionTerminated: HttpsConnection._on_goaway,
    events.RemoteSettingsChanged: HttpsConnection._on_window,
    events.WindowUpdated: HttpsConnection._on_window,
}
