"""A scripted upstream that speaks DNS over QUIC on loopback; behaviours are those of `upstream`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import dns.message
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration

from support.doh import KEYS, ResetStream
from support.upstream import Asked, Behaviour, Close, Raw, Send, Step, Wait, good


class ScriptedDoq:
    """An `async with` context. `seen` are the queries, `raw` the bytes of their streams, `connections` those accepted,
    `resumed` how many of them took an earlier session up. Connections up to number `dead` hear and say nothing more.
    """

    def __init__(self, behaviour: Behaviour | None = None, *, alpn: str = "doq", idle_timeout: float = 60.0) -> None:
        self.behaviour = behaviour or good()
        self.seen: list[Asked] = []
        self.raw: list[bytes] = []
        self.connections = 0
        self.resumed = 0
        self.dead = 0
        self.stopped_streams = 0
        self.port = 0
        self.open: set[_Connection] = set()
        self._tickets: dict[bytes, Any] = {}
        self._configuration = QuicConfiguration(is_client=False, alpn_protocols=[alpn], idle_timeout=idle_timeout)
        self._configuration.load_cert_chain(KEYS / "server.pem", KEYS / "server.key")
        self._server: Any = None

    async def __aenter__(self) -> ScriptedDoq:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the port used before if there was one."""
        self._server = await serve(
            "127.0.0.1",
            self.port,
            configuration=self._configuration,
            create_protocol=lambda *args, **kwargs: _Connection(self, *args, **kwargs),
            session_ticket_fetcher=lambda label: self._tickets.pop(label, None),
            session_ticket_handler=lambda ticket: self._tickets.update({ticket.ticket: ticket}),
        )
        self.port = self._server._transport.get_extra_info("sockname")[1]

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is None:
            return
        self.drop_connections()
        self._server.close()
        self._server = None
        await asyncio.sleep(0)

    def drop_connections(self) -> None:
        """Close every connection, as a server does that restarts."""
        for connection in list(self.open):
            connection.end()


class _Connection(QuicConnectionProtocol):
    def __init__(self, server: ScriptedDoq, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._scripted = server
        self._buffers: dict[int, bytearray] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        server.connections += 1
        self._number = server.connections
        server.open.add(self)

    def end(self) -> None:
        self._scripted.open.discard(self)
        for task in self._tasks:
            task.cancel()
        self.close()

    def datagram_received(self, data: Any, addr: Any) -> None:
        if self._number > self._scripted.dead:
            super().datagram_received(data, addr)

    def transmit(self) -> None:
        if self._number > self._scripted.dead:
            super().transmit()

    def quic_event_received(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.HandshakeCompleted):
            self._scripted.resumed += event.session_resumed
        elif isinstance(event, events.StreamDataReceived):
            buffer = self._buffers.setdefault(event.stream_id, bytearray())
            buffer += event.data
            if event.end_stream:
                self._asked(event.stream_id, bytes(self._buffers.pop(event.stream_id)))
        elif isinstance(event, events.StopSendingReceived):
            self._scripted.stopped_streams += 1
        elif isinstance(event, events.ConnectionTerminated):
            self._scripted.open.discard(self)

    def _asked(self, stream: int, data: bytes) -> None:
        self._scripted.raw.append(data)
        asked = Asked(dns.message.from_wire(data[2:]), data[2:], "quic", 0, self._number)
        self._scripted.seen.append(asked)
        task = asyncio.get_running_loop().create_task(self._answer(stream, self._scripted.behaviour(asked)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, stream: int, steps: Iterable[Step | ResetStream]) -> None:
        for step in steps:
            if isinstance(step, Wait):
                await step.event.wait()
            elif isinstance(step, Send):
                framed = len(step.wire).to_bytes(2, "big") + step.wire
                self._quic.send_stream_data(stream, framed, end_stream=True)
            elif isinstance(step, Raw):
                self._quic.send_stream_data(stream, step.data, end_stream=True)
            elif isinstance(step, ResetStream):
                self._quic.reset_stream(stream, 1)
            elif isinstance(step, Close):
                self.end()
            self.transmit()
