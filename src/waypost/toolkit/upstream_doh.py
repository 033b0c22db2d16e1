"""DNS over HTTPS (RFC 8484): what a query is as an HTTP request, and which responses are replies."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from typing import Final

from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_reply import judge_message
from waypost.wire.message import Message
from waypost.wire.query import Query
from waypost.wire.record import Records

MAX_MESSAGE: Final = 65535
_PATH = "/dns-query"
_MEDIA_TYPE = "application/dns-message"
_HTTPS_PORT = 443

Headers = list[tuple[str, str]]


def authority(address: UpstreamAddress) -> str:
    """Who is asked, as a URL names it: the name in its certificate, or its IP address."""
    host = address.server_name or (f"[{address.ip}]" if address.is_v6 else address.ip)
    return host if address.port == _HTTPS_PORT else f"{host}:{address.port}"


def request(method: str, host: str, message: bytes) -> tuple[Headers, bytes]:
    """Headers and body of a request by GET or POST (section 4.1)."""
    get = method == "GET"
    path = f"{_PATH}?dns={urlsafe_b64encode(message).rstrip(b'=').decode()}" if get else _PATH
    headers = [
        (":method", method),
        (":scheme", "https"),
        (":authority", host),
        (":path", path),
        ("accept", _MEDIA_TYPE),
    ]
    if get:
        return headers, b""
    return [*headers, ("content-type", _MEDIA_TYPE), ("content-length", str(len(message)))], message


class DohExchange:
    """One request and what has come of its response. `unsent` is what of the body must wait for the peer."""

    __slots__ = ("_age", "_body", "_query", "answer", "unsent")

    def __init__(self, query: Query, answer: asyncio.Future[Message], body: bytes) -> None:
        self.answer = answer
        self.unsent = body
        self._query = query
        self._body = bytearray()
        self._age = 0

    def begin(self, headers: Iterable[tuple[bytes, bytes]]) -> UpstreamError | None:
        """Take the response's headers; an error if they are not those of a reply."""
        fields = {bytes(name): bytes(value) for name, value in headers}
        status = fields.get(b":status", b"")
        if status != b"200":
            return UpstreamError(f"DoH: HTTP status {status.decode('ascii', 'replace')}")
        media_type = fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media_type != _MEDIA_TYPE.encode():
            return UpstreamError(f"DoH: content type {media_type.decode('ascii', 'replace')!r}")
        age = fields.get(b"age", b"")
        self._age = int(age) if age.isdigit() and len(age) < 10 else 0
        return None

    def feed(self, data: bytes) -> UpstreamError | None:
        """Take a piece of the body; an error if there is more than a message can be."""
        self._body += data
        return UpstreamError(f"DoH: response above {MAX_MESSAGE} bytes") if len(self._body) > MAX_MESSAGE else None

    def trail(self, headers: Iterable[tuple[bytes, bytes]]) -> UpstreamError | None:
        """What is behind the body has nothing to say here."""
        return None

    def reply(self) -> Message | UpstreamError:
        """The reply, once the body is complete; its TTLs less the time in HTTP caches (section 5.1)."""
        result = judge_message(bytes(self._body), self._query)
        if not self._age or isinstance(result, UpstreamError):
            return result
        return result._replace(
            answer=_aged(result.answer, self._age),
            authority=_aged(result.authority, self._age),
            additional=_aged(result.additional, self._age),
        )

    def settle(self, result: Message | UpstreamError) -> None:
        """End the wait, unless it was given up."""
        if self.answer.done():
            return
        if isinstance(result, UpstreamError):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)


def _aged(records: Records, age: int) -> Records:
    return tuple(record._replace(ttl=max(record.ttl - age, 0)) for record in records)
