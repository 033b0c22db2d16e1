"""One QUIC connection to an upstream that speaks DNS over QUIC (RFC 9250); the extra `quic` brings what it needs."""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.tls import SessionTicket

from waypost.toolkit.exchange import ExchangeSettings
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_dial import DIAL_TIMEOUT, connected_datagram_socket
from waypost.toolkit.upstream_doq import DoqExchange, pack
from waypost.toolkit.upstream_errors import ConnectionLost, UpstreamError, connecting, same_error
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_multiplexed import MultiplexedClient
from waypost.toolkit.upstream_pool import OnChange
from waypost.toolkit.upstream_tls import TlsFiles
from waypost.wire.message import Message
from waypost.wire.query import Query

_ALPN = "doq"
_REQUEST_CANCELLED = 0x3
_STREAM_WINDOW = 1 << 17
_CONNECTION_WINDOW = 1 << 20
# A connection gives way to a new one long before its numbers of streams are a burden.
_MAX_STREAM = 1 << 20

# What the library has to say of bad packets reaches the log as an upstream's failure.
logging.getLogger("quic").addHandler(logging.NullHandler())


def quic_client(
    address: UpstreamAddress, files: TlsFiles, settings: ExchangeSettings, cache: SocketCache
) -> MultiplexedClient:
    """A client that trusts and shows what `files` say. Raises OSError or ValueError if they cannot be used."""
    client = _QuicClient(address, _configuration(address, files, settings), settings.source)
    return MultiplexedClient(address, client.connect, settings.pool_limits, cache)


def _configuration(address: UpstreamAddress, files: TlsFiles, settings: ExchangeSettings) -> QuicConfiguration:
    configuration = QuicConfiguration(
        alpn_protocols=[_ALPN],
        server_name=address.server_name or address.ip,
        idle_timeout=max(settings.expire, settings.read_timeout),
        max_stream_data=_STREAM_WINDOW,
        max_data=_CONNECTION_WINDOW,
    )
    if files.ca:
        configuration.load_verify_locations(files.ca)
    else:
        system = ssl.get_default_verify_paths()
        configuration.load_verify_locations(system.cafile, system.capath)
    if files.certificate:
        configuration.load_cert_chain(files.certificate, files.key)
    return configuration


class _QuicClient:
    """Makes connections; a later one resumes the TLS session of an earlier one, and so needs no certificate again."""

    __slots__ = ("_address", "_configuration", "_source", "_ticket")

    def __init__(self, address: UpstreamAddress, configuration: QuicConfiguration, source: str) -> None:
        self._address = address
        self._configuration = configuration
        self._source = source
        self._ticket: SessionTicket | None = None

    def connect(self, timeout: float, on_idle: OnChange, on_closed: OnChange) -> DoqConnection:
        """Begin to connect."""
        quic = QuicConnection(
            configuration=replace(self._configuration, session_ticket=self._ticket),
            session_ticket_handler=self._keep,
        )
        connection = DoqConnection(self._address, quic, timeout, on_idle, on_closed)
        connection.open(self._source)
        return connection

    def _keep(self, ticket: SessionTicket) -> None:
        self._ticket = ticket


class DoqConnection:
    """A `PooledConnection`: a stream for each query. `open` connects."""

    def __init__(
        self, address: UpstreamAddress, quic: QuicConnection, timeout: float, on_idle: OnChange, on_closed: OnChange
    ) -> None:
        self.load = 0
        self.answered = False
        self.retired = False
        self._address = address
        self._quic = quic
        self._timeout = timeout
        self._on_idle = on_idle
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self.born = self.idle_since = self._loop.time()
        self._protocol = _Protocol(quic, self)
        self._exchanges: dict[int, DoqExchange] = {}
        self._ready = asyncio.Event()
        self._error: UpstreamError | None = None
        self._dialling: asyncio.Task[None] | None = None

    def open(self, source: str) -> None:
        """Begin to connect."""
        self._dialling = self._loop.create_task(self._dial(source))

    async def ask(self, query: Query, tail: bytes) -> Message:
        """Send a query on a stream of its own, and wait for the reply. Raises UpstreamError."""
        self.load += 1
        started = self._loop.time()
        stream = -1
        try:
            await self._ready.wait()
            if self._error is not None:
                raise same_error(self._error)
            stream, started = self._send(query, tail), self._loop.time()
            return await self._exchanges[stream].answer
        except asyncio.CancelledError:
            # A connection on which nothing at all was heard while a query waited is as good as dead.
            if self._protocol.heard <= started and self._loop.time() - started >= self._timeout / 2:
                self.retired = True
            raise
        finally:
            if self._exchanges.pop(stream, None) is not None:
                self._cancel(stream)
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
            self._on_closed(self)
        if self._dialling is not None:
            self._dialling.cancel()
        self._protocol.stop()

    def received(self, event: events.QuicEvent) -> None:
        """Something happened on the connection."""
        match event:
            case events.HandshakeCompleted():
                self._ready.set()
            case events.StreamDataReceived(data=data, end_stream=end, stream_id=stream):
                self._on_data(stream, data, end)
            case events.StreamReset(stream_id=stream):
                exchange = self._exchanges.pop(stream, None)
                if exchange is not None:
                    exchange.settle(UpstreamError(f"quic://{self._address}: stream reset by the server"))
            case events.ConnectionTerminated(reason_phrase=reason):
                kind = ConnectionLost if self._ready.is_set() else UpstreamError
                self.close(kind(f"quic://{self._address}: {reason or 'connection ended by the server'}"))
            case _:
                pass

    def failed(self, error: OSError) -> None:
        """The socket says that the upstream cannot be reached."""
        self.close(ConnectionLost(*connecting("udp", str(self._address), error).args))

    def _on_data(self, stream: int, data: bytes, end: bool) -> None:
        self.answered = True
        exchange = self._exchanges.get(stream)
        if exchange is not None and exchange.feed(data, end=end):
            del self._exchanges[stream]

    def _send(self, query: Query, tail: bytes) -> int:
        """Begin a stream; gives its number."""
        stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, pack(query, tail), end_stream=True)
        self._exchanges[stream] = DoqExchange(query, self._loop.create_future())
        self.retired = self.retired or stream >= _MAX_STREAM
        self._protocol.transmit()
        return stream

    def _cancel(self, stream: int) -> None:
        """Tell the server that nobody waits any more (section 4.3.1)."""
        with suppress(ValueError):
            self._quic.stop_stream(stream, _REQUEST_CANCELLED)
            self._protocol.transmit()

    async def _dial(self, source: str) -> None:
        error: UpstreamError | None = None
        try:
            async with asyncio.timeout(DIAL_TIMEOUT):
                await self._connect(source)
                await self._ready.wait()
        except OSError as exc:
            error = connecting("udp", str(self._address), exc)
        except ValueError as exc:  # a server name that cannot be one
            error = UpstreamError(f"quic://{self._address}: {exc}")
        self._dialling = None
        if error is not None:
            self.close(error)

    async def _connect(self, source: str) -> None:
        sock = connected_datagram_socket(self._address, source)
        try:
            await self._loop.create_datagram_endpoint(lambda: self._protocol, sock=sock)
        except BaseException:
            sock.close()
            raise
        self._protocol.connect(self._address.sockaddr())


class _Protocol(QuicConnectionProtocol):
    """Between the socket and the library. `heard` is when the last packet came, on the loop's clock."""

    def __init__(self, quic: QuicConnection, owner: DoqConnection) -> None:
        super().__init__(quic)
        self.heard = owner.born
        self._owner = owner
        self._stopped = False

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        self.heard = self._loop.time()
        super().datagram_received(data, addr)

    def error_received(self, exc: Exception) -> None:
        if isinstance(exc, OSError):
            self._owner.failed(exc)

    def quic_event_received(self, event: events.QuicEvent) -> None:
        self._owner.received(event)

    def transmit(self) -> None:
        if not self._stopped:
            super().transmit()

    def stop(self) -> None:
        """Say that the connection ends, and close the socket without waiting for an answer."""
        if self._stopped or self._transport is None:
            self._stopped = True
            return
        self._quic.close()
        self.transmit()
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self._transport.close()
