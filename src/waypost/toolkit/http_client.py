"""An HTTP/1.1 client: connections that are kept alive, over TCP, TLS or a Unix socket, through a proxy or without."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from waypost.corefile.addresses import is_ip
from waypost.toolkit.http_connection import Answer, Connection, encode_head
from waypost.toolkit.http_errors import Disconnected, HttpError, dial_error

_KEPT_SECONDS: Final = 15.0
_STAGGER: Final = 0.25
"""Seconds until a host's next address is tried beside the first (RFC 8305)."""
_IDEMPOTENT: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))
_WITH_BODY: Final = frozenset(("POST", "PUT", "PATCH"))


class Way(NamedTuple):
    """How a server is reached: `tls` for an https URL (None: the system's roots), the name that its certificate must
    have if it is not the URL's, the URL of a proxy, the path of a Unix socket."""

    tls: ssl.SSLContext | None = None
    name: str = ""
    proxy: str = ""
    socket: str = ""


_DIRECT: Final = Way()
_Key = tuple[str, str, Way]


class HttpClient:
    """Use it, and close it, inside a running event loop. `connect_seconds` is for reaching a server."""

    def __init__(self, connect_seconds: float) -> None:
        self._seconds = connect_seconds
        self._idle: dict[_Key, dict[Connection, asyncio.TimerHandle]] = {}
        self._open: set[Connection] = set()

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", way: Way = _DIRECT
    ) -> Answer:
        """The answer to a request, to be left as a context manager. Raises HttpError, and ValueError for a bad URL.

        `url` is sent as it is. Redirections are answers like any other.
        """
        parts = urlsplit(url)
        request = _encode(method, parts, headers, body, way)
        key = (parts.scheme, parts.netloc, way)
        while (connection := self._take(key)) is not None:
            try:
                return await connection.send(request, partial(self._keep, key))
            except Disconnected:  # it was ending just then
                if method not in _IDEMPOTENT:
                    raise
        connection = await self._dial(key, parts, way)
        return await connection.send(request, partial(self._keep, key))

    async def close(self) -> None:
        """End every connection."""
        connections = list(self._open)
        for connection in connections:
            connection.close()
        await asyncio.gather(*(connection.lost for connection in connections))

    def _take(self, key: _Key) -> Connection | None:
        """The connection that was used last."""
        idle = self._idle.get(key, {})
        while idle:
            connection, timer = idle.popitem()
            timer.cancel()
            if not connection.transport.is_closing():
                return connection
        return None

    def _keep(self, key: _Key, connection: Connection) -> None:
        """Free for another request, for a while."""
        timer = asyncio.get_running_loop().call_later(_KEPT_SECONDS, connection.close)
        self._idle.setdefault(key, {})[connection] = timer

    def _forget(self, key: _Key, connection: Connection) -> None:
        """It has ended."""
        self._open.discard(connection)
        idle = self._idle.get(key, {})
        if connection in idle:
            idle.pop(connection).cancel()
        if not idle:
            self._idle.pop(key, None)

    async def _dial(self, key: _Key, parts: SplitResult, way: Way) -> Connection:
        address = way.socket or _address(urlsplit(way.proxy) if way.proxy else parts)
        try:
            async with asyncio.timeout(self._seconds):
                connection = await _connect(parts, way)
        except OSError as exc:
            raise dial_error(exc, address) from exc
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._forget(key, connection))
        return connection


async def _connect(parts: SplitResult, way: Way) -> Connection:
    loop = asyncio.get_running_loop()
    tls = _context(parts, way)
    if way.socket:
        name = (way.name or parts.hostname) if tls is not None else None
        return (await loop.create_unix_connection(Connection, way.socket, ssl=tls, server_hostname=name))[1]
    if not way.proxy:
        return await _connect_to(parts, tls, way.name)
    proxy = urlsplit(way.proxy)
    connection = await _connect_to(proxy, _context(proxy, way), "")
    if tls is not None:
        try:
            await _tunnel(connection, parts, proxy)
            upgraded = await loop.start_tls(
                connection.transport, connection, tls, server_hostname=way.name or parts.hostname
            )
        except BaseException:
            connection.close()
            raise
        assert upgraded is not None
        connection.connection_made(upgraded)
    return connection


async def _connect_to(parts: SplitResult, tls: ssl.SSLContext | None, name: str) -> Connection:
    loop = asyncio.get_running_loop()
    if not parts.hostname:
        raise ValueError(f"no host in the URL {parts.geturl()}")
    _, connection = await loop.create_connection(
        Connection,
        parts.hostname,
        _port(parts),
        ssl=tls,
        server_hostname=name or parts.hostname if tls is not None else None,
        # A race of one has nothing to win, and asyncio's leaves a socket open when it is cancelled at its end.
        happy_eyeballs_delay=None if is_ip(parts.hostname) else _STAGGER,
    )
    return connection


async def _tunnel(connection: Connection, parts: SplitResult, proxy: SplitResult) -> None:
    """CONNECT (RFC 9110, 9.3.6). Raises HttpError."""
    there = _address(parts)
    head = encode_head(f"CONNECT {there} HTTP/1.1", {"Host": there, **_authorization("Proxy-Authorization", proxy)})
    answer = await connection.send(head, lambda _: None)
    if answer.status // 100 != 2:
        raise HttpError(f"proxyconnect tcp: {_address(proxy)} answers {answer.status}")
    connection.leave()


def _encode(method: str, parts: SplitResult, headers: Mapping[str, str], body: bytes, way: Way) -> bytes:
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    host = parts.netloc.rpartition("@")[2]
    fields = {"Host": host, **_authorization("Authorization", parts), **headers}
    if way.proxy and parts.scheme == "http":
        target = f"http://{host}{target}"
        fields |= _authorization("Proxy-Authorization", urlsplit(way.proxy))
    if body or method in _WITH_BODY:
        fields["Content-Length"] = str(len(body))
    if " " in target:
        raise ValueError("a space in a URL")
    return encode_head(f"{method} {target} HTTP/1.1", fields) + body


def _authorization(field: str, parts: SplitResult) -> dict[str, str]:
    """What the user information of a URL becomes."""
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {field: f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _context(parts: SplitResult, way: Way) -> ssl.SSLContext | None:
    if parts.scheme != "https":
        return None
    return way.tls or ssl.create_default_context()


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _address(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{_port(parts)}"
