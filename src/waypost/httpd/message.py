"""What a handler of the HTTP server gets and gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

PLAIN: Final = "text/plain; charset=utf-8"


class HttpRequest(NamedTuple):
    """Method, decoded path, raw query string, and headers, which are looked up in any case. Bodies are not read."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


class HttpResponse(NamedTuple):
    """Status, Content-Type, body, further headers. The body of an answer to HEAD is left out on the way."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


HttpHandler = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]

NOT_FOUND: Final = HttpResponse(404, PLAIN, b"404 page not found\n")
FAULT: Final = HttpResponse(500, PLAIN, b"500 internal server error\n")


def plain(status: int, text: str) -> HttpResponse:
    """A response of text."""
    return HttpResponse(status, PLAIN, text.encode())
