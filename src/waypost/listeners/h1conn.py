"""HTTP/1.1 on a server's connection, by the library h11; the extra `doh` brings it."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import h11

from waypost.listeners.http import MAX_HEADERS, Asked, Event, Field, HttpRequest, HttpResponse

_ONLY: Final = 0
_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")


class Http1Codec:
    """A `Codec`: one request after the other."""

    parallel = False

    def __init__(self, max_body: int) -> None:
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADERS)
        self._max_body = max_body
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._out = bytearray()
        self._answering = False
        self._closing = False

    @property
    def incomplete(self) -> bool:
        """True from a request's first byte to its last."""
        return self._request is not None or bool(self._http.trailing_data[0])

    @property
    def unsent(self) -> int:
        """HTTP/1.1 has no flow control of its own."""
        return 0

    @property
    def closing(self) -> bool:
        """True once the last response is out."""
        return self._closing and not self._answering

    def receive(self, data: bytes, now: float) -> Iterator[Event]:
        """Requests that are whole now."""
        if data:
            self._http.receive_data(data)
        while not self._answering and not self._closing:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as exc:
                self._refuse(exc.error_status_hint)
                return
            if event is h11.NEED_DATA:
                self._allow_body()
                return
            if isinstance(event, h11.Request):
                self._request = event
                self._body.clear()
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > self._max_body:
                    yield self._asked(None)
            elif isinstance(event, h11.EndOfMessage):
                yield self._asked(bytes(self._body))
            else:  # paused behind a request that closes, or closed by the client
                self._closing = True

    def send(self, stream: int, response: HttpResponse) -> None:
        """Answer the request that waits."""
        if not self._answering:
            return
        self._answering = False
        fields = [*response.headers, (b"content-length", b"%d" % len(response.body))]
        self._write(response.status, fields, response.body)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE and not self._closing:
            self._http.start_next_cycle()
        else:
            self._closing = True

    def say_goodbye(self) -> None:
        """The response that is due, if any, is the last one."""
        self._closing = True

    def data_to_send(self) -> bytes:
        """What is to go out."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def _asked(self, body: bytes | None) -> Asked:
        request = self._request
        assert request is not None
        self._request = None
        self._answering = True
        return Asked(_ONLY, HttpRequest(request.method, request.target, dict(request.headers), body))

    def _allow_body(self) -> None:
        if self._http.they_are_waiting_for_100_continue:
            self._out += self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b""

    def _refuse(self, status: int) -> None:
        """What came is no HTTP/1.1."""
        self._closing = True
        self._request = None
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._write(status, [_TEXT, (b"content-length", b"0")], b"")

    def _write(self, status: int, fields: list[Field], body: bytes) -> None:
        if self._closing:
            fields.append((b"connection", b"close"))
        response = h11.Response(status_code=status, headers=fields, reason=HTTPStatus(status).phrase)
        self._out += self._http.send(response) or b""
        if body:
            self._out += self._http.send(h11.Data(data=body)) or b""
        self._out += self._http.send(h11.EndOfMessage()) or b""
