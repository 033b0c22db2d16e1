"""A DNS client for an upstream that speaks gRPC, as CoreDNS's `grpc://` servers do; the extra `grpc` brings HTTP/2."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from waypost.toolkit import dnspacket
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_doh import Headers, authority
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_https import HttpExchange, HttpsConnection
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_multiplexed import MultiplexedClient
from waypost.toolkit.upstream_pool import OnChange, PoolLimits
from waypost.toolkit.upstream_reply import judge_message
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import Query

ALPN: Final = ("h2",)


def grpc_client(
    address: UpstreamAddress, tls: ssl.SSLContext | None, limits: PoolLimits, cache: SocketCache
) -> MultiplexedClient:
    """A client; `tls` must offer `ALPN`, None is clear text."""
    headers = [
        (":method", "POST"),
        (":scheme", "https" if tls else "http"),
        (":authority", authority(address)),
        (":path", dnspacket.PATH),
        ("te", "trailers"),
        ("content-type", dnspacket.CONTENT_TYPE),
    ]

    def begin(query: Query, tail: bytes, answer: asyncio.Future[Message]) -> tuple[Headers, HttpExchange]:
        body = dnspacket.pack(query.id.to_bytes(2, "big") + tail)
        return headers, GrpcExchange(query, answer, body)

    def connect(timeout: float, on_idle: OnChange, on_closed: OnChange) -> HttpsConnection:
        connection = HttpsConnection(address, begin, timeout, on_idle, on_closed)
        connection.open(tls, "")
        return connection

    return MultiplexedClient(address, connect, limits, cache)


class GrpcExchange:
    """One call and what has come of it. `unsent` is what of the message must wait for the peer."""

    __slots__ = ("_body", "_query", "_status", "_text", "answer", "unsent")

    def __init__(self, query: Query, answer: asyncio.Future[Message], body: bytes) -> None:
        self.answer = answer
        self.unsent = body
        self._query = query
        self._body = bytearray()
        self._status = ""
        self._text = ""

    def begin(self, headers: Iterable[tuple[bytes, bytes]]) -> UpstreamError | None:
        """Take the response's headers; a call that failed at once has its status here."""
        fields = {bytes(name): bytes(value) for name, value in headers}
        if fields.get(b":status") != b"200":
            return UpstreamError(f"gRPC: HTTP status {fields.get(b':status', b'').decode('ascii', 'replace')}")
        if not fields.get(b"content-type", b"").startswith(dnspacket.CONTENT_TYPE.encode()):
            return UpstreamError("gRPC: the response is no gRPC")
        return self.trail(fields.items())

    def feed(self, data: bytes) -> UpstreamError | None:
        """Take a piece of the message; an error if there is more than a message can be."""
        self._body += data
        too_long = len(self._body) > dnspacket.MAX_FRAME
        return UpstreamError(f"gRPC: response above {dnspacket.MAX_MESSAGE} bytes") if too_long else None

    def trail(self, headers: Iterable[tuple[bytes, bytes]]) -> UpstreamError | None:
        """Take the status."""
        for name, value in headers:
            if name == b"grpc-status":
                self._status = bytes(value).decode("ascii", "replace")
            elif name == b"grpc-message":
                self._text = unquote(bytes(value).decode("ascii", "replace"))
        return None

    def reply(self) -> Message | UpstreamError:
        """The reply, once the call is over; to CoreDNS, NOT_FOUND is one."""
        if self._status == str(dnspacket.NOT_FOUND):
            return _nxdomain(self._query)
        if self._status != str(dnspacket.OK):
            return UpstreamError(f"rpc error: code = {self._status or 'none'} desc = {self._text}")
        try:
            message = dnspacket.unpack(bytes(self._body))
        except ValueError as exc:
            return UpstreamError(f"bad reply: {exc}")
        return judge_message(message, self._query)

    def settle(self, result: Message | UpstreamError) -> None:
        """End the wait, unless it was given up."""
        if self.answer.done():
            return
        if isinstance(result, UpstreamError):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)


def _nxdomain(query: Query) -> Message:
    flags = consts.QR | query.flags & consts.RD | consts.NXDOMAIN
    return Message(query.id, flags, consts.NXDOMAIN, 1, query.qname, query.qtype, query.qclass, (), (), (), None)
