"""What dnstap tells: clients' queries before anybody answers them, replies as they leave, exchanges with upstreams."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.plugins.dnstap import payload
from waypost.plugins.dnstap.outlet import Outlet
from waypost.plugins.dnstap.payload import Envelope, Event, encode_event
from waypost.toolkit.sent import as_sent
from waypost.toolkit.upstream_tap import Forwarded
from waypost.wire import addr
from waypost.wire.fit import pack
from waypost.wire.query import Query
from waypost.wire.reply import Reply

_SECURE: Final = {"tls": payload.DOT, "https": payload.DOH, "https3": payload.DOH, "quic": payload.DOQ}
"""The protocol of a scheme that says it all; with the others it is UDP or TCP."""


class Form(NamedTuple):
    """What messages of a tap look like: with the DNS messages or without, what is around them, and the extra text."""

    full: bool
    envelope: Envelope
    extra: Callable[[Request], bytes] | None = None


class Dnstap:
    """One tap; replies go on unchanged."""

    __slots__ = ("_form", "_outlet", "name", "next")

    next: Handler

    def __init__(self, outlet: Outlet, form: Form) -> None:
        self.name = "dnstap"
        self._outlet = outlet
        self._form = form

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        if request.trace is not None:  # what is explained is nobody's query
            return self.next.serve(request)
        asked = time.time_ns()
        query = request.query  # as the client sent it: a plugin further on may replace it
        if self._outlet.wants():
            event = _client_event(request, payload.CLIENT_QUERY, asked)
            self._send(request, event._replace(query=query.wire) if self._form.full else event)
        outcome = self.next.serve(request)
        if isinstance(outcome, Reply):
            return self._answered(request, query, asked, outcome)
        return then(outcome, lambda reply: self._answered(request, query, asked, reply))

    def forwarded(self, request: Request, forwarded: Forwarded) -> None:
        """An upstream was asked: the query and, if there is one, the reply."""
        if request.trace is not None:
            return
        outlet = self._outlet
        form = self._form
        event = Event(
            payload.FORWARDER_QUERY,
            _protocol(forwarded.scheme, datagram=not forwarded.stream),
            forwarded.asked,
            response_address=addr.pack(forwarded.ip) or b"",
            response_port=forwarded.port,
        )
        if outlet.wants():
            self._send(request, event._replace(query=request.query.wire) if form.full else event)
        reply = forwarded.reply
        if reply is not None and outlet.wants():
            message = pack(request.query, reply, datagram=False) if form.full else b""
            answered = event._replace(
                kind=payload.FORWARDER_RESPONSE, response_time=forwarded.replied, response=message
            )
            self._send(request, answered)

    def _answered(self, request: Request, query: Query, asked: int, reply: Reply) -> Reply:
        """Tell of what leaves, be it the server that writes it; nothing of silence."""
        leaving = as_sent(query, reply)
        if leaving is None:
            return reply
        datagram = request.datagram
        event = _client_event(request, payload.CLIENT_RESPONSE, asked)._replace(response_time=time.time_ns())
        for message in (leaving, *(() if datagram else leaving.more)):
            if self._outlet.wants():
                full = self._form.full
                wire = pack(query, message, datagram=datagram, v6=datagram and request.is_v6) if full else b""
                self._send(request, event._replace(response=wire))
        return reply

    def _send(self, request: Request, event: Event) -> None:
        extra = self._form.extra
        self._outlet.send(self._form.envelope.wrap(encode_event(event), b"" if extra is None else extra(request)))


def _client_event(request: Request, kind: int, asked: int) -> Event:
    protocol = _protocol(request.server.label.partition(":")[0], datagram=request.datagram)
    return Event(kind, protocol, asked, addr.pack(request.client_ip) or b"", request.client[1])


def _protocol(scheme: str, *, datagram: bool) -> int:
    return _SECURE.get(scheme) or (payload.UDP if datagram else payload.TCP)
