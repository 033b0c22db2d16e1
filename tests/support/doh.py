"""A scripted upstream that speaks DNS over HTTPS (HTTP/2 over TLS) on loopback; behaviours are those of `upstream`."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dns.message
import h2.config
import h2.connection
import h2.events
import h2.settings

from support.upstream import Asked, Behaviour, Close, Send, Step, Wait, good

KEYS = Path(__file__).parents[1] / "data" / "kube-tls"
SERVER_NAME = "kubernetes.default.svc"
"""The name in the throw-away certificate."""


@dataclass(frozen=True)
class Respond:
    """A response of any kind; `Send` is the usual one."""

    body: bytes = b""
    status: str = "200"
    content_type: str = "application/dns-message"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ResetStream:
    """Give up the one query."""


@dataclass(frozen=True)
class GoAway:
    """End the connection as HTTP/2 does."""


@dataclass
class Request:
    """One request as it arrived."""

    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)

    def message(self) -> bytes:
        """The query in it."""
        if self.headers[":method"] == "POST":
            return bytes(self.body)
        text = self.headers[":path"].partition("?dns=")[2]
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class ScriptedDoh:
    """An `async with` context. `seen` are the queries, `requests` what they came in, `connections` those accepted.

    `streams` and `window` are what the server allows: queries at a time, and bytes of a request's body.
    """

    def __init__(
        self, behaviour: Behaviour | None = None, *, alpn: str = "h2", streams: int = 100, window: int = 65535
    ) -> None:
        self.behaviour = behaviour or good()
        self.seen: list[Asked] = []
        self.requests: list[Request] = []
        self.connections = 0
        self.port = 0
        self.streams = streams
        self.window = window
        self.open: set[_Connection] = set()
        self.most_streams = 0
        self._tls = server_context(alpn)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> ScriptedDoh:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the port used before if there was one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.drop_connections()
        await asyncio.sleep(0)

    def drop_connections(self) -> None:
        """Close every connection, as a server does with idle ones."""
        for connection in list(self.open):
            connection.stop()


def server_context(alpn: str) -> ssl.SSLContext:
    """With the throw-away certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(KEYS / "server.pem", KEYS / "server.key")
    context.set_alpn_protocols([alpn])
    return context


class _Connection(asyncio.Protocol):
    def __init__(self, server: ScriptedDoh) -> None:
        self._server = server
        self._requests: dict[int, Request] = {}
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        codes = h2.settings.SettingCodes
        self._http.local_settings = h2.settings.Settings(
            client=False,
            initial_values={codes.MAX_CONCURRENT_STREAMS: server.streams, codes.INITIAL_WINDOW_SIZE: server.window},
        )
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._server.connections += 1
        self._number = self._server.connections
        self._server.open.add(self)
        self._http.initiate_connection()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()
        self._server.open.discard(self)

    def stop(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        for event in self._http.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self._requests[event.stream_id] = Request(dict(event.headers))
                self._server.most_streams = max(self._server.most_streams, self._http.open_inbound_streams)
            elif isinstance(event, h2.events.DataReceived):
                self._requests[event.stream_id].body += event.data
                self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self._asked(event.stream_id, self._requests.pop(event.stream_id))
        self._flush()

    def _asked(self, stream: int, request: Request) -> None:
        wire = request.message()
        peer_port = self._transport.get_extra_info("peername")[1]
        asked = Asked(dns.message.from_wire(wire), wire, "https", peer_port, self._number)
        self._server.requests.append(request)
        self._server.seen.append(asked)
        task = asyncio.get_running_loop().create_task(self._answer(stream, self._server.behaviour(asked)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, stream: int, steps: Iterable[Step | Respond | ResetStream | GoAway]) -> None:
        for step in steps:
            if isinstance(step, Wait):
                await step.event.wait()
            elif isinstance(step, Send | Respond):
                self._respond(stream, Respond(step.wire) if isinstance(step, Send) else step)
            elif isinstance(step, ResetStream):
                self._http.reset_stream(stream)
            elif isinstance(step, GoAway):
                self._http.close_connection()
            elif isinstance(step, Close):
                self._transport.abort()
            else:
                self._transport.write(step.data)
            self._flush()

    def _respond(self, stream: int, response: Respond) -> None:
        headers = [(":status", response.status), ("content-type", response.content_type), *response.headers]
        self._http.send_headers(stream, headers)
        body = response.body
        size = self._http.max_outbound_frame_size
        for start in range(0, len(body), size):
            self._http.send_data(stream, body[start : start + size])
        self._http.end_stream(stream)

    def _flush(self) -> None:
        self._transport.write(self._http.data_to_send())
