"""The HTTP side of the Kubernetes API: a whole answer, or with GET an endless one, line by line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

from waypost.kube.auth import Credentials, Grant
from waypost.kube.config import ClusterAccess
from waypost.kube.errors import ApiProtocolError, ApiUnreachable, status_error
from waypost.kube.limits import Admission, Limits
from waypost.kube.lines import LineSplitter
from waypost.toolkit.http_client import HttpClient, Way
from waypost.toolkit.http_connection import Answer
from waypost.toolkit.http_errors import HttpError, transport_error_text

CONNECT_TIMEOUT = 10.0
ANSWER_TIMEOUT = 30.0
"""Seconds until the head of an answer, and between two pieces of a whole answer."""
MAX_BODY = 256 * 1024 * 1024
"""Bytes of a whole answer, decompressed: an unpaged list of the largest clusters fits."""
MAX_ERROR_BODY = 64 * 1024
_TRANSPORT_ERRORS = (HttpError, OSError, ValueError)


class Call(NamedTuple):
    """One request; `content` is JSON of the type `content_type`."""

    method: str
    url: str
    content: bytes = b""
    content_type: str = ""


class RequestMetrics(Protocol):
    """Where requests are counted (`coredns_kubernetes_rest_client_*`)."""

    def throttled(self, verb: str, host: str, seconds: float) -> None:
        """A request waited `seconds` for the rate limit."""

    def answered(self, verb: str, host: str, code: str, seconds: float) -> None:
        """The head of an answer came after `seconds`; `code` is the HTTP status or `<error>`."""


class ApiClient:
    """Requests to one API server. Make it, and close it, inside a running event loop."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        user_agent: str,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        metrics: RequestMetrics | None = None,
        credentials: Credentials | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`clock` (seconds) and `sleep` serve the rate limit and the metrics."""
        self._access = access
        self._host = urlsplit(access.server).netloc
        self._credentials = credentials or Credentials(access)
        self._admission = Admission(limits, clock=clock, sleep=sleep)
        self._metrics = metrics
        self._clock = clock
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}
        self._http = HttpClient(CONNECT_TIMEOUT)

    async def close(self) -> None:
        """Ends every request."""
        await self._http.close()

    async def get_json_bytes(self, path: str, params: Mapping[str, str]) -> bytes:
        """The body of `path` (decompressed). ApiStatusError, ApiUnreachable, ClusterError."""
        encoding = "identity" if self._access.disable_compression else "gzip"
        url = self._url(path, params)
        async with self._admission.request(next_page="continue" in params) as waited:
            response = await self._open(Call("GET", url), encoding, waited)
            async with response:
                return await self._body(response, url, MAX_BODY)

    async def send_json_bytes(
        self, method: str, path: str, content: bytes, content_type: str = "application/json"
    ) -> bytes:
        """POST, PUT or PATCH an object; gives the body of the answer. ApiStatusError, ApiUnreachable, ClusterError.

        Without an answer (ApiUnreachable) it may have been done all the same.
        """
        call = Call(method, self._url(path, {}), content, content_type)
        async with self._admission.request() as waited:
            response = await self._open(call, "identity", waited)
            async with response:
                return await self._body(response, call.url, MAX_BODY)

    @asynccontextmanager
    async def stream_lines(self, path: str, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of `path` as they come, empty ones left out; entered once the server has said 200.

        The rate limit and the in-flight bound cover the request, not the stream, which may last for minutes: a
        bound would otherwise be used up by watches. Silence is for the caller to judge.
        """
        url = self._url(path, params)
        async with self._admission.request() as waited:
            response = await self._open(Call("GET", url), "identity", waited)
        async with response, aclosing(self._lines(response, url)) as lines:
            yield lines

    def _url(self, path: str, params: Mapping[str, str]) -> str:
        query = urlencode(params)
        return f"{self._access.server}{path}{'?' if query else ''}{query}"

    async def _open(self, call: Call, encoding: str, waited: float) -> Answer:
        """An answer with status 200, or 201 to a write. Credentials that are refused are looked at again, once."""
        if self._metrics:
            self._metrics.throttled(call.method, self._host, waited)
        grant = await self._credentials.current()
        response = await self._send(call, encoding, grant)
        if response.status == 401:
            self._credentials.rejected(grant)
            renewed = await self._credentials.current()
            if renewed != grant:
                response.release()
                response = await self._send(call, encoding, renewed)
        if response.status != 200 and (response.status != 201 or call.method == "GET"):
            async with response:
                body = await self._body(response, call.url, MAX_ERROR_BODY)
                raise status_error(response.status, body, response.headers.get("retry-after"))
        return response

    async def _send(self, call: Call, encoding: str, grant: Grant) -> Answer:
        started = self._clock()
        code = "<error>"
        access = self._access
        about = {"Content-Type": call.content_type} if call.content else {}
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                response = await self._http.send(
                    call.method,
                    call.url,
                    {**self._headers, **grant.headers, "Accept-Encoding": encoding, **about},
                    call.content,
                    Way(grant.tls, access.tls_server_name or "", access.proxy_url or ""),
                )
            code = str(response.status)
            return response
        except _TRANSPORT_ERRORS as error:
            raise ApiUnreachable(f'{call.method.capitalize()} "{call.url}": {transport_error_text(error)}') from error
        finally:
            if self._metrics:
                self._metrics.answered(call.method, self._host, code, self._clock() - started)

    async def _body(self, response: Answer, url: str, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async for part in response.parts(ANSWER_TIMEOUT):
                size += len(part)
                if size > limit:
                    raise ApiProtocolError(f'Get "{url}": an answer of more than {limit} bytes')
                parts.append(part)
        except _TRANSPORT_ERRORS as error:
            raise ApiUnreachable(f'Get "{url}": {transport_error_text(error)}') from error
        return b"".join(parts)

    async def _lines(self, response: Answer, url: str) -> AsyncGenerator[bytes, None]:
        splitter = LineSplitter()
        try:
            async for chunk in response.parts(None):
                for line in splitter.feed(chunk):
                    if line:
                        yield line
        except _TRANSPORT_ERRORS as error:
            raise ApiUnreachable(f'Get "{url}": {transport_error_text(error)}') from error
        if splitter.unfinished:
            raise ApiUnreachable(f'Get "{url}": unexpected EOF')
