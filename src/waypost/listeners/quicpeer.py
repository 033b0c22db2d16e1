"""One client's QUIC connection: between the socket and what is spoken on its streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple, Protocol, TypeVar

from aioquic.quic import events
from aioquic.quic.connection import QuicConnection

from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits
from waypost.listeners.overload import discard
from waypost.listeners.way import Way

T = TypeVar("T")

# The library raises its windows whatever becomes of the data; what comes with gaps lies in its buffers, gaps included.
_MAX_UNDELIVERED: Final = 1 << 18
# Numbers of streams that one connection uses up before it gives way to a new one.
_MAX_STREAM: Final = 1 << 18
# A client forgets answers that it has not read yet when it hears that the connection is closed.
_LINGER_SECONDS: Final = 0.2


class Path(NamedTuple):
    """Where datagrams of a client come from, for the library, and the way back."""

    host: str
    port: int
    way: Way


class Session(Protocol):
    """What is spoken on the streams of a connection. `busy`: queries are not answered yet."""

    @property
    def busy(self) -> bool: ...

    def received(self, event: events.QuicEvent) -> None:
        """Something happened on a stream."""
        ...

    def say_goodbye(self) -> None:
        """Tell the client to send no more queries, if there is a way to say so."""
        ...


class Speech(NamedTuple):
    """What is spoken: its name in the handshake, how a session of it begins, and its codes for closing connections."""

    alpn: str
    begin: Callable[[QuicPeer], Session]
    done: int
    excessive: int


class Host(Protocol):
    """The listener. `waiting` counts queries."""

    server: Server | None
    timeouts: Timeouts
    limits: Limits
    waiting: int
    speech: Speech

    def send(self, data: bytes, way: Way) -> None:
        """Send a datagram."""
        ...

    def know(self, cid: bytes, peer: QuicPeer) -> None:
        """Packets with this connection id are the peer's."""
        ...

    def forget(self, peer: QuicPeer, cid: bytes | None = None) -> None:
        """They are no more; without `cid` the peer is gone."""
        ...

    def failed(self, error: Exception) -> None:
        """The library could not handle what a client sent."""
        ...


class QuicPeer:
    """One connection. `client` is where its last datagram came from."""

    def __init__(self, host: Host, quic: QuicConnection) -> None:
        self.host = host
        self.quic = quic
        self.client: Address = ("", 0)
        self.ready = False
        self._session: Session | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = self._loop.call_later(host.timeouts.read, self._give_up)
        self._delivered = 0
        self._finishing = False
        self._leaving: asyncio.TimerHandle | None = None
        self._gone = False

    @property
    def busy(self) -> bool:
        """True if queries of it are not answered yet."""
        return self._session is not None and self._session.busy

    @property
    def server(self) -> Server:
        """Who answers now."""
        server = self.host.server
        assert server is not None
        return server

    def receive(self, data: bytes, path: Path) -> None:
        """A datagram."""
        self.client = path.way.client
        try:
            self.quic.receive_datagram(data, addr=path, now=self._loop.time())
        except Exception as exc:
            self.host.failed(exc)
            self.drop()
            return
        self._process()
        if self.quic._local_max_data.used - self._delivered > _MAX_UNDELIVERED:
            self.close(self.host.speech.excessive, "too much data with gaps")
        self.transmit()

    def transmit(self) -> None:
        """Send what there is to send, and look again when the library wants to; close soon if that was to come."""
        if self._gone:
            return
        now = self._loop.time()
        for data, path in self.quic.datagrams_to_send(now):
            self.host.send(data, path.way)
        self._process()
        if self._finishing and not self.busy and not self._gone and self._leaving is None:
            self._leaving = self._loop.call_later(_LINGER_SECONDS, self.close, self.host.speech.done)
        if self._timer is not None:
            self._timer.cancel()
        when = self.quic.get_timer()
        self._timer = None if when is None or self._gone else self._loop.call_at(when, self._on_timer)

    def later(self, waiting: Awaitable[T], then: Callable[[T], None]) -> bool:
        """Call `then` with what is waited for; False if too many wait already, and it is given up."""
        host = self.host
        if host.limits.waiting and host.waiting >= host.limits.waiting:
            discard(waiting)
            return False
        host.waiting += 1
        task = self._loop.create_task(self._wait(waiting, then))
        self.server.waiting.add(task)
        return True

    def finish(self) -> None:
        """Close once everything that arrived is answered."""
        self._finishing = True
        if self._session is not None:
            self._session.say_goodbye()
        self.transmit()

    def close(self, code: int, reason: str = "") -> None:
        """Tell the client, and let go."""
        if self._gone:
            return
        self.quic.close(error_code=code, reason_phrase=reason)
        for data, path in self.quic.datagrams_to_send(self._loop.time()):
            self.host.send(data, path.way)
        self.drop()

    def drop(self) -> None:
        """Let go without a word."""
        self._gone = True
        self._session = None
        for timer in (self._deadline, self._timer, self._leaving):
            if timer is not None:
                timer.cancel()
        self.host.forget(self)

    async def _wait(self, waiting: Awaitable[T], then: Callable[[T], None]) -> None:
        try:
            result = await waiting
        finally:
            self.host.waiting -= 1
        if not self._gone:
            then(result)
            self.transmit()

    def _process(self) -> None:
        while not self._gone and (event := self.quic.next_event()) is not None:
            match event:
                case events.ConnectionIdIssued(connection_id=cid):
                    self.host.know(cid, self)
                case events.ConnectionIdRetired(connection_id=cid):
                    self.host.forget(self, cid)
                case events.ConnectionTerminated():
                    self.drop()
                case events.ProtocolNegotiated():
                    self._session = self.host.speech.begin(self)
                case events.HandshakeCompleted():
                    self.ready = True
                    self._deadline.cancel()
                case _:
                    self._hear(event)

    def _hear(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.StreamDataReceived):
            self._delivered += len(event.data)
            if event.stream_id >= _MAX_STREAM:
                self._finishing = True
        if self._session is not None:
            self._session.received(event)

    def _on_timer(self) -> None:
        self._timer = None
        self.quic.handle_timer(now=self._loop.time())
        self._process()
        self.transmit()

    def _give_up(self) -> None:
        """The handshake took too long."""
        self.drop()


def cancel(quic: QuicConnection, stream: int, code: int) -> None:
    """Give up a stream, both its sides."""
    with suppress(ValueError, AssertionError):  # it has ended already
        quic.stop_stream(stream, code)
    with suppress(ValueError, AssertionError):
        quic.reset_stream(stream, code)
