"""A QUIC client that does what it is told, allowed or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration

from support.secure import CA, SERVER_NAME


class Client(QuicConnectionProtocol):
    """`streams` is what came on each, `ended` those that the server has ended, `reset` and `stopped` their codes.

    `seen` are all events, and `hear`, if it is set, is told of each that is new.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.streams: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.reset: dict[int, int] = {}
        self.stopped: dict[int, int] = {}
        self.closed: events.ConnectionTerminated | None = None
        self.resumed = False
        self.seen: list[events.QuicEvent] = []
        self.hear: Callable[[events.QuicEvent], None] | None = None
        self._changed = asyncio.Event()

    def quic_event_received(self, event: events.QuicEvent) -> None:
        self.seen.append(event)
        if self.hear is not None:
            self.hear(event)
        match event:
            case events.StreamDataReceived():
                self.streams[event.stream_id] = self.streams.get(event.stream_id, b"") + event.data
                if event.end_stream:
                    self.ended.add(event.stream_id)
            case events.StreamReset():
                self.reset[event.stream_id] = event.error_code
            case events.StopSendingReceived():
                self.stopped[event.stream_id] = event.error_code
            case events.ConnectionTerminated():
                self.closed = event
            case events.HandshakeCompleted():
                self.resumed = event.session_resumed
            case _:
                pass
        self._changed.set()

    def send(self, data: bytes, *, end: bool = True, stream: int | None = None, uni: bool = False) -> int:
        """Send on a new stream, or on this one; gives its number."""
        if stream is None:
            stream = self._quic.get_next_available_stream_id(is_unidirectional=uni)
        self._quic.send_stream_data(stream, data, end_stream=end)
        self.transmit()
        return stream

    async def until(self, condition: Callable[[], object], seconds: float = 5.0) -> None:
        """Wait until it is true."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def answer(self, stream: int) -> bytes:
        """What the server sent on a stream, once it has ended it."""
        await self.until(lambda: stream in self.ended or stream in self.reset or self.closed)
        return self.streams.get(stream, b"")

    async def code(self) -> int:
        """The code that the server closed the connection with."""
        await self.until(lambda: self.closed)
        assert self.closed is not None
        return self.closed.error_code


def configuration(alpn: str = "doq", **how: Any) -> QuicConfiguration:
    """Trusts the throw-away certificate."""
    made = QuicConfiguration(alpn_protocols=[alpn], server_name=SERVER_NAME, **how)
    made.load_verify_locations(CA)
    return made


@asynccontextmanager
async def connected(port: int, settings: QuicConfiguration | None = None, **how: Any) -> AsyncIterator[Client]:
    """A client of a port on loopback."""
    async with connect(
        "127.0.0.1", port, configuration=settings or configuration(), create_protocol=Client, **how
    ) as client:
        assert isinstance(client, Client)
        yield client
