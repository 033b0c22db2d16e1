"""DNS over HTTPS (RFC 8484): which requests are queries, and what their answers are as responses."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Final

from waypost.dispatch.ahead import Answer, Messages
from waypost.dispatch.serve import Server
from waypost.listeners.http import HttpRequest, HttpResponse, Peer
from waypost.listeners.overquic import ask_over_quic
from waypost.listeners.padding import padded
from waypost.metrics.registry import CounterFamily, Registry
from waypost.wire import consts
from waypost.wire.errors import FormErr, Rejected
from waypost.wire.message import Message, decode
from waypost.wire.query import parse_query

MAX_MESSAGE: Final = 65_535
_PATH: Final = b"/dns-query"
_MEDIA_TYPE: Final = b"application/dns-message"
_MESSAGE: Final = (b"content-type", _MEDIA_TYPE)
_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")
_ALPHABET: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST_AGE: Final = 3600
# How long the other answers, errors among them, may be kept: CoreDNS's number.
_SHORT_AGE: Final = 5


def _error(status: HTTPStatus, text: str = "", *fields: tuple[bytes, bytes]) -> HttpResponse:
    return HttpResponse(status, (_TEXT, *fields), f"{text or status.phrase.lower()}\n".encode())


_NOT_FOUND: Final = _error(HTTPStatus.NOT_FOUND)
_WRONG_METHOD: Final = _error(HTTPStatus.METHOD_NOT_ALLOWED, "", (b"allow", b"GET, POST"))
_WRONG_TYPE: Final = _error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/dns-message")
_TOO_LARGE: Final = _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
_INVALID: Final = _error(HTTPStatus.BAD_REQUEST, "invalid request")
_NO_RESPONSE: Final = _error(HTTPStatus.INTERNAL_SERVER_ERROR, "No response")


_COUNTERS: Final = {
    "https": (
        "coredns_dns_https_responses_total",
        "Counter of DoH responses per server and http status code.",
    ),
    "https3": (
        "coredns_dns_https3_responses_total",
        "Counter of DoH3 responses per server and http status code.",
    ),
}


class DohService:
    """A `Service`. `scheme` is `https` or `https3`."""

    max_body = MAX_MESSAGE
    overloaded = _error(HTTPStatus.SERVICE_UNAVAILABLE)

    def __init__(self, metrics: Registry, scheme: str) -> None:
        name, text = _COUNTERS[scheme]
        self._responses: CounterFamily = metrics.counter(name, text, ("server", "status"))

    def respond(self, request: HttpRequest, server: Server, peer: Peer) -> HttpResponse | Awaitable[HttpResponse]:
        """The response, at once or later."""
        query = message_of(request)
        if isinstance(query, HttpResponse):
            refusal = query._replace(body=b"") if request.method == b"HEAD" else query
            return self._counted(server, refusal)
        answer: Answer
        if peer.datagram:
            answer = ask_over_quic(server, query, peer.client)
        else:
            answer = server.serve(query, peer.client, False, peer.local)
        if isinstance(answer, Awaitable):
            return self._respond_later(server, answer)
        return self._counted(server, response_of(answer))

    async def _respond_later(self, server: Server, waiting: Awaitable[Messages]) -> HttpResponse:
        return self._counted(server, response_of(await waiting))

    def _counted(self, server: Server, response: HttpResponse) -> HttpResponse:
        self._responses.labels(server.label, str(int(response.status))).inc()
        return response


def message_of(request: HttpRequest) -> bytes | HttpResponse:
    """The query in a request (section 4.1), or what is to be said of the request."""
    path, _, parameters = request.target.partition(b"?")
    if path != _PATH:
        return _NOT_FOUND
    if request.method == b"POST":
        media_type = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media_type != _MEDIA_TYPE:
            return _WRONG_TYPE
        if request.body is None:
            return _TOO_LARGE
        message = request.body
    elif request.method == b"GET":
        message = _parameter(parameters)
    else:
        return _WRONG_METHOD
    try:
        parse_query(message)
    except Rejected:
        return _INVALID
    return message


def response_of(answer: Messages) -> HttpResponse:
    """What a message is as a response (section 4.2); one that HTTP cannot carry, several or none, is an error."""
    if isinstance(answer, tuple) and len(answer) == 1:
        answer = answer[0]
    if not isinstance(answer, bytes):
        return _NO_RESPONSE
    age = b"max-age=%d" % freshness(answer)
    return HttpResponse(HTTPStatus.OK, (_MESSAGE, (b"cache-control", age)), padded(answer))


def freshness(message: bytes) -> int:
    """Seconds that a cache may keep it (section 5.1): the least TTL in it; little for errors and empty answers."""
    try:
        decoded = decode(message)
    except FormErr:
        return _SHORT_AGE
    ttls = [record.ttl for record in (*decoded.answer, *decoded.authority, *decoded.additional)]
    if not ttls or not _is_final(decoded):
        return min([_SHORT_AGE, *ttls])
    return min(_LONGEST_AGE, *ttls)


def _is_final(message: Message) -> bool:
    """True for answers, and for denials that say how long they hold."""
    if message.rcode == consts.NOERROR and message.answer:
        return True
    denial = message.rcode in (consts.NOERROR, consts.NXDOMAIN) and not message.answer
    return denial and any(record.rtype == consts.TYPE_SOA for record in message.authority)


def _parameter(parameters: bytes) -> bytes:
    """The message in `dns=`, which must be there once; b"" if there is none."""
    values = [value for name, _, value in (part.partition(b"=") for part in parameters.split(b"&")) if name == b"dns"]
    if len(values) != 1 or not _ALPHABET.issuperset(values[0]) or len(values[0]) % 4 == 1:
        return b""
    try:
        return urlsafe_b64decode(values[0] + b"=" * (-len(values[0]) % 4))
    except Base64Error:
        return b""
