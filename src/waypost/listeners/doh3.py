"""HTTP/3 on a client's QUIC connection (RFC 9114): requests of bounded size for a service."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.h3.exceptions import H3Error
from aioquic.quic import events

from waypost.listeners.http import MAX_HEADERS, Field, HttpRequest, HttpResponse, Peer, Service
from waypost.listeners.quicpeer import QuicPeer, cancel

ALPN: Final = "h3"
NO_ERROR: Final = int(ErrorCode.H3_NO_ERROR)
EXCESSIVE_LOAD: Final = int(ErrorCode.H3_EXCESSIVE_LOAD)
_UNIDIRECTIONAL: Final = 2
_MAX_HELD: Final = 1 << 18
# What a client may send about header compression at first, and for each request.
_ABOUT_HEADERS: Final = 1 << 16
_ABOUT_A_REQUEST: Final = 1 << 10
_FRAMES: Final = 1 << 10
_TOO_LARGE: Final = HttpResponse(431, ((b"content-length", b"0"),))


class _Inbound:
    """A request that is not whole yet; `size` counts bytes of its stream."""

    __slots__ = ("body", "headers", "size")

    def __init__(self) -> None:
        self.headers: list[Field] | None = None
        self.body = bytearray()
        self.size = 0


class H3Session:
    """A `Session`."""

    def __init__(self, peer: QuicPeer, service: Service) -> None:
        self._peer = peer
        self._service = service
        self._http = H3Connection(peer.quic)
        self._inbound: dict[int, _Inbound] = {}
        self._waiting: set[int] = set()
        self._held = 0
        self._allowance = _ABOUT_HEADERS

    @property
    def busy(self) -> bool:
        """True if requests of it are not answered yet."""
        return bool(self._waiting)

    def received(self, event: events.QuicEvent) -> None:
        """Something happened on a stream."""
        if isinstance(event, events.StreamReset | events.StopSendingReceived):
            self._forget(event.stream_id)
            self._waiting.discard(event.stream_id)
        if isinstance(event, events.StreamDataReceived) and not self._may_send(event):
            return
        try:
            happened = self._http.handle_event(event)
        except (H3Error, ValueError, AssertionError) as exc:
            self._peer.host.failed(exc)
            self._peer.close(int(ErrorCode.H3_GENERAL_PROTOCOL_ERROR))
            return
        for each in happened:
            self._take(each)

    def say_goodbye(self) -> None:
        """The library has no word for it."""

    def _may_send(self, event: events.StreamDataReceived) -> bool:
        """Bound what the library has to hold until a frame is whole."""
        stream, size = event.stream_id, len(event.data)
        if stream & _UNIDIRECTIONAL:
            self._allowance -= size
            if self._allowance < 0:
                self._peer.close(EXCESSIVE_LOAD, "too much about headers")
            return self._allowance >= 0
        inbound = self._inbound.get(stream)
        if inbound is None:
            limit = self._peer.host.limits.streams
            if limit and len(self._inbound) + len(self._waiting) >= limit:
                cancel(self._peer.quic, stream, int(ErrorCode.H3_REQUEST_REJECTED))
                return False
            inbound = self._inbound[stream] = _Inbound()
            self._allowance = min(_ABOUT_HEADERS, self._allowance + _ABOUT_A_REQUEST)
        inbound.size += size
        self._held += size
        if inbound.size > MAX_HEADERS + self._service.max_body + _FRAMES:
            self._forget(stream)
            cancel(self._peer.quic, stream, EXCESSIVE_LOAD)
            return False
        if self._held > _MAX_HELD:
            self._peer.close(EXCESSIVE_LOAD, "too many unfinished requests")
            return False
        return True

    def _take(self, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived | DataReceived):
            return
        inbound = self._inbound.get(event.stream_id)
        if inbound is None:
            return
        if isinstance(event, DataReceived):
            inbound.body += event.data
        elif inbound.headers is None:
            inbound.headers = event.headers
        if event.stream_ended or len(inbound.body) > self._service.max_body:
            self._forget(event.stream_id)
            self._ask(event.stream_id, inbound)

    def _forget(self, stream: int) -> None:
        inbound = self._inbound.pop(stream, None)
        if inbound is not None:
            self._held -= inbound.size

    def _ask(self, stream: int, inbound: _Inbound) -> None:
        fields = inbound.headers or []
        if sum(len(name) + len(value) + 32 for name, value in fields) > MAX_HEADERS:
            self._respond(stream, _TOO_LARGE)
            return
        headers = dict(fields)
        body = bytes(inbound.body) if len(inbound.body) <= self._service.max_body else None
        request = HttpRequest(headers.pop(b":method", b""), headers.pop(b":path", b""), headers, body)
        peer = Peer(self._peer.client, None, datagram=True)
        response = self._service.respond(request, self._peer.server, peer)
        if not isinstance(response, Awaitable):
            self._respond(stream, response)
            return
        self._waiting.add(stream)
        if not self._peer.later(response, lambda late: self._respond_late(stream, late)):
            self._waiting.discard(stream)
            self._respond(stream, self._service.overloaded)

    def _respond_late(self, stream: int, response: HttpResponse) -> None:
        if stream in self._waiting:
            self._waiting.remove(stream)
            self._respond(stream, response)

    def _respond(self, stream: int, response: HttpResponse) -> None:
        headers = [(b":status", b"%d" % response.status), *response.headers]
        try:
            self._http.send_headers(stream, headers, end_stream=not response.body)
            if response.body:
                self._http.send_data(stream, response.body, end_stream=True)
        except (H3Error, ValueError, AssertionError):  # the stream is gone
            cancel(self._peer.quic, stream, NO_ERROR)
