"""HTTP/2 on a server's connection, by the library h2; the extras `doh` and `grpc` bring it.

What a client may do to cost more than it pays is bounded: streams at a time, headers, bodies that are not whole yet,
responses it does not take, and, by a budget that fills up again with time, frames that ask for nothing (RFC 9113
section 10.5) and requests that it takes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from waypost.listeners.http import MAX_HEADERS, Asked, Cancelled, Event, Field, HttpRequest, HttpResponse, Violation

# All bodies of a connection that are not whole yet fit into the one, each of them into the other.
_CONNECTION_WINDOW: Final = 1 << 18
_STREAM_WINDOW: Final = 1 << 17
_DEFAULT_WINDOW: Final = 65_535
_MAX_UNSENT: Final = 1 << 20
_MAX_STREAMS: Final = (1 << 31) - 1
# The library remembers every stream that was: a connection gives way to a new one before that is a burden.
_STREAMS_OF_A_CONNECTION: Final = 10_000
_BUDGET: Final = 1000.0
_BUDGET_A_SECOND: Final = 100.0
_BUDGET_AN_ANSWER: Final = 2.0
_GOODBYE: Final = b"\0\0\x08\x07\0\0\0\0\0"

_TRICKS: Final = (
    events.PingReceived,
    events.PriorityUpdated,
    events.RemoteSettingsChanged,
    events.SettingsAcknowledged,
    events.UnknownFrameReceived,
    events.WindowUpdated,
)


class _Inbound:
    """A request that is not whole yet."""

    __slots__ = ("body", "headers")

    def __init__(self, headers: list[Field]) -> None:
        self.headers = headers
        self.body = bytearray()


class Http2Codec:
    """A `Codec`. `max_streams` is how many requests a client may have at a time."""

    parallel = True

    def __init__(self, max_body: int, max_streams: int) -> None:
        self._max_body = max_body
        self._http = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        values = {
            SettingCodes.MAX_CONCURRENT_STREAMS: min(max_streams or _MAX_STREAMS, _MAX_STREAMS),
            SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEADERS,
        }
        self._http.local_settings = Settings(client=False, initial_values=values)
        self._http.decoder.max_header_list_size = MAX_HEADERS
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_CONNECTION_WINDOW - _DEFAULT_WINDOW)
        self._inbound: dict[int, _Inbound] = {}
        self._waiting: set[int] = set()
        self._outbound: dict[int, tuple[bytes, tuple[Field, ...]]] = {}
        self._budget = _BUDGET
        self._looked: float | None = None
        self._last = 0
        self._leaving = False
        self._parted = False

    @property
    def incomplete(self) -> bool:
        """True if a request has begun and is not whole yet."""
        return bool(self._inbound)

    @property
    def unsent(self) -> int:
        """Bytes of responses that the client has no window for."""
        return sum(len(body) for body, _ in self._outbound.values())

    @property
    def closing(self) -> bool:
        """True once a goodbye is said and every response is out."""
        return self._leaving and not self._inbound and not self._waiting and not self._outbound

    def receive(self, data: bytes, now: float) -> Iterator[Event]:
        """Requests that are whole now, and streams that nobody waits for. Raises Violation."""
        if not data:
            return
        self._refill(now)
        try:
            happened = self._http.receive_data(data)
            for event in happened:
                yield from self._take(event)
        except ProtocolError as exc:
            self._parted = True
            raise Violation(f"HTTP/2: {exc or type(exc).__name__}") from exc

    def send(self, stream: int, response: HttpResponse) -> None:
        """Answer; the body goes as far as the client has a window for it."""
        self._waiting.discard(stream)
        self._budget = min(_BUDGET, self._budget + _BUDGET_AN_ANSWER)
        headers = [(b":status", b"%d" % response.status), *response.headers]
        body, trailers = response.body, response.trailers
        with suppress(ProtocolError):  # the stream is gone
            self._http.send_headers(stream, headers, end_stream=not body and not trailers)
            if body or trailers:
                self._outbound[stream] = (body, trailers)
                self._push(stream)
            self._finished_early(stream)
        if self.unsent > _MAX_UNSENT:
            raise Violation("HTTP/2: the client does not take its responses")

    def say_goodbye(self) -> None:
        """What has begun is still answered, what comes is refused, and a client may send that elsewhere.

        The word for it goes out last (RFC 9113 section 6.8): to some clients it is the end of everything.
        """
        self._leaving = True

    def data_to_send(self) -> bytes:
        """What is to go out."""
        data = self._http.data_to_send()
        if self.closing and not self._parted:
            self._parted = True
            data += _GOODBYE + self._last.to_bytes(4, "big") + bytes(4)
        return data

    def _take(self, event: events.Event) -> Iterator[Event]:
        if isinstance(event, events.RequestReceived):
            self._begin(event)
        elif isinstance(event, events.DataReceived):
            yield from self._feed(event)
        elif isinstance(event, events.StreamEnded):
            request = self._inbound.pop(event.stream_id or 0, None)
            if request is not None:
                yield self._asked(event.stream_id or 0, request, bytes(request.body))
        elif isinstance(event, events.StreamReset):
            yield from self._cancelled(event.stream_id or 0)
        elif isinstance(event, events.ConnectionTerminated):
            self._leaving = self._parted = True
        elif isinstance(event, _TRICKS):
            self._spend(1)
            if isinstance(event, events.WindowUpdated | events.RemoteSettingsChanged):
                for stream in list(self._outbound):
                    self._push(stream)

    def _begin(self, event: events.RequestReceived) -> None:
        stream = event.stream_id or 0
        if self._leaving:
            self._http.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
            return
        self._last = stream
        self._inbound[stream] = _Inbound([(bytes(name), bytes(value)) for name, value in event.headers or ()])
        if stream // 2 >= _STREAMS_OF_A_CONNECTION:
            self.say_goodbye()

    def _feed(self, event: events.DataReceived) -> Iterator[Event]:
        """Bodies are not acknowledged before they are whole: the window bounds what can lie here unfinished."""
        stream, size = event.stream_id or 0, event.flow_controlled_length or 0
        request = self._inbound.get(stream)
        if request is None:
            self._http.acknowledge_received_data(size, stream)
            return
        if not event.data:
            self._spend(1)
        request.body += event.data or b""
        # What is no data of a frame, padding, does not lie here.
        self._http.acknowledge_received_data(size - len(event.data or b""), stream)
        if len(request.body) > self._max_body:
            del self._inbound[stream]
            yield self._asked(stream, request, None)

    def _asked(self, stream: int, request: _Inbound, body: bytes | None) -> Asked:
        self._http.acknowledge_received_data(len(request.body), stream)
        self._waiting.add(stream)
        fields = dict(request.headers)
        return Asked(stream, HttpRequest(fields.pop(b":method", b""), fields.pop(b":path", b""), fields, body))

    def _cancelled(self, stream: int) -> Iterator[Event]:
        """A request that is taken back has cost something already (CVE-2023-44487)."""
        self._spend(2)
        request = self._inbound.pop(stream, None)
        if request is not None:
            self._http.acknowledge_received_data(len(request.body), stream)
        self._outbound.pop(stream, None)
        if stream in self._waiting:
            self._waiting.discard(stream)
            yield Cancelled(stream)

    def _push(self, stream: int) -> None:
        """As much of a response as the client has a window for."""
        body, trailers = self._outbound[stream]
        try:
            while body:
                room = min(self._http.local_flow_control_window(stream), self._http.max_outbound_frame_size)
                if room <= 0:
                    self._outbound[stream] = (body, trailers)
                    return
                piece, body = body[:room], body[room:]
                self._http.send_data(stream, piece, end_stream=not body and not trailers)
            if trailers:
                self._http.send_headers(stream, trailers, end_stream=True)
        except ProtocolError:  # the stream is gone
            pass
        del self._outbound[stream]

    def _finished_early(self, stream: int) -> None:
        """A response to a request that the client has not finished sending: it can stop (RFC 9113 section 8.1)."""
        if stream not in self._outbound and stream in self._http.streams and not self._http.streams[stream].closed:
            self._http.reset_stream(stream, ErrorCodes.NO_ERROR)

    def _refill(self, now: float) -> None:
        if self._looked is not None:
            self._budget = min(_BUDGET, self._budget + (now - self._looked) * _BUDGET_A_SECOND)
        self._looked = now

    def _spend(self, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            self._http.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            self._parted = True
            raise Violation("HTTP/2: too many frames that ask for nothing")
