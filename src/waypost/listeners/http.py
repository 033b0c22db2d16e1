"""HTTP as what is served over it sees it: whole requests of bounded size, and responses; whatever the version."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Final, NamedTuple, Protocol

from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server

MAX_HEADERS: Final = 16_384
"""Bytes of a request's header fields, its target included."""

Field = tuple[bytes, bytes]


class HttpRequest(NamedTuple):
    """`target` is the path with the query string; `headers` are by name in lower case; `body` is None if it was longer
    than the service takes."""

    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    body: bytes | None = b""


class HttpResponse(NamedTuple):
    """`trailers` are header fields behind the body (gRPC)."""

    status: int
    headers: tuple[Field, ...]
    body: bytes = b""
    trailers: tuple[Field, ...] = ()


class Peer(NamedTuple):
    """Who asks, and where; `datagram` is true for HTTP/3."""

    client: Address
    local: Address | None
    datagram: bool = False


class Service(Protocol):
    """What is served. `max_body` is in bytes, `overloaded` the response of those that must be turned away."""

    max_body: int
    overloaded: HttpResponse

    def respond(self, request: HttpRequest, server: Server, peer: Peer) -> HttpResponse | Awaitable[HttpResponse]:
        """The response, at once or later."""
        ...


class Asked(NamedTuple):
    """A whole request on a stream."""

    stream: int
    request: HttpRequest


class Cancelled(NamedTuple):
    """Nobody waits for a stream's response any more."""

    stream: int


Event = Asked | Cancelled


class Violation(Exception):
    """The client does what no client may, or too much of what some may: the connection ends."""


class Codec(Protocol):
    """One connection's side of a version of HTTP, without the socket.

    `incomplete`: a request has begun. `unsent`: bytes of responses that the client's flow control holds up.
    `parallel`: further requests may come while one waits. `closing`: the connection ends once all is sent.
    """

    parallel: bool

    @property
    def incomplete(self) -> bool: ...

    @property
    def unsent(self) -> int: ...

    @property
    def closing(self) -> bool: ...

    def receive(self, data: bytes, now: float) -> Iterable[Event]:
        """Take a piece of the stream, at a time in seconds; b"" goes on with what is there. Raises Violation."""
        ...

    def send(self, stream: int, response: HttpResponse) -> None:
        """Answer; nothing happens if the stream is gone. Raises Violation."""
        ...

    def say_goodbye(self) -> None:
        """Tell the client to send no more requests."""
        ...

    def data_to_send(self) -> bytes:
        """What is to go out."""
        ...
