"""DNS over gRPC, as CoreDNS speaks it: `coredns.dns.DnsService/Query`, a query and its answer in a DnsPacket each."""

from __future__ import annotations

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from waypost.dispatch.ahead import Messages
from waypost.dispatch.serve import Server
from waypost.listeners.http import HttpRequest, HttpResponse, Peer
from waypost.listeners.padding import padded
from waypost.toolkit import dnspacket
from waypost.wire.errors import Rejected
from waypost.wire.query import parse_query

_PATH: Final = dnspacket.PATH.encode()
_GRPC: Final = dnspacket.CONTENT_TYPE.encode()
_CONTENT_TYPE: Final = (b"content-type", _GRPC)
_OK: Final = ((b"grpc-status", b"0"),)
# What stands for itself in a status message: printable ASCII without `%`.
_PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


def _failed(status: int, text: str) -> HttpResponse:
    """A response without a message: the status stands among the headers."""
    message = quote(text, safe=_PLAIN).encode()
    headers = (_CONTENT_TYPE, (b"grpc-status", b"%d" % status), (b"grpc-message", message))
    return HttpResponse(HTTPStatus.OK, headers)


_WRONG_TYPE: Final = HttpResponse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, ((b"content-length", b"0"),))
_NO_SUCH_METHOD: Final = _failed(dnspacket.UNIMPLEMENTED, f"there is no method but {dnspacket.PATH}")
_TOO_LARGE: Final = _failed(dnspacket.RESOURCE_EXHAUSTED, f"message above {dnspacket.MAX_MESSAGE} bytes")
_REJECTED: Final = _failed(dnspacket.UNKNOWN, "dns request rejected")
_NO_RESPONSE: Final = _failed(dnspacket.INTERNAL, "No response")


class GrpcService:
    """A `Service`."""

    max_body = dnspacket.MAX_FRAME
    overloaded = _failed(dnspacket.RESOURCE_EXHAUSTED, "too many queries wait")

    def respond(self, request: HttpRequest, server: Server, peer: Peer) -> HttpResponse | Awaitable[HttpResponse]:
        """The response, at once or later."""
        query = message_of(request)
        if isinstance(query, HttpResponse):
            return query
        answer = server.serve(query, peer.client, False, peer.local)
        return _respond_later(answer) if isinstance(answer, Awaitable) else response_of(answer)


def message_of(request: HttpRequest) -> bytes | HttpResponse:
    """The query in a request, or what is to be said of the request."""
    media_type, _, subtype = request.headers.get(b"content-type", b"").partition(b"+")
    if request.method != b"POST" or media_type.partition(b";")[0] != _GRPC or subtype not in (b"", b"proto"):
        return _WRONG_TYPE
    if request.target != _PATH:
        return _NO_SUCH_METHOD
    if request.body is None:
        return _TOO_LARGE
    try:
        message = dnspacket.unpack(request.body)
        parse_query(message)
    except dnspacket.Compressed as exc:
        return _failed(dnspacket.UNIMPLEMENTED, str(exc))
    except ValueError as exc:
        return _failed(dnspacket.UNKNOWN, str(exc))
    except Rejected:
        return _REJECTED
    return message


def response_of(answer: Messages) -> HttpResponse:
    """What a message is as a response; several or none are an error."""
    if isinstance(answer, tuple) and len(answer) == 1:
        answer = answer[0]
    if not isinstance(answer, bytes):
        return _NO_RESPONSE
    return HttpResponse(HTTPStatus.OK, (_CONTENT_TYPE,), dnspacket.pack(padded(answer)), _OK)


async def _respond_later(waiting: Awaitable[Messages]) -> HttpResponse:
    return response_of(await waiting)
