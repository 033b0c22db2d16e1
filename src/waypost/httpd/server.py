"""A small HTTP/1.1 server for probes and metrics: one listen address, exact paths, everything bounded.

It is lent by its address: the blocks of a configuration and its successors share it, each with routes of its own.
Where several processes serve, one of them listens (`ask_all`), and the others answer what it asks them (`stay_silent`).
"""

from __future__ import annotations

import asyncio
import inspect
import socket
from typing import Final

from waypost.corefile.addresses import parse_port, split_host_port
from waypost.dispatch.site import Lender
from waypost.httpd.connection import HttpConnection
from waypost.httpd.join import AskAll, Joint
from waypost.httpd.message import FAULT, NOT_FOUND, HttpHandler, HttpRequest, HttpResponse
from waypost.httpd.socket import listen
from waypost.log import Log

_MAX_CONNECTIONS: Final = 256
_IDLE_SECONDS: Final = 10.0
# However slowly a client sends or reads, its connection ends after this.
_CONNECTION_SECONDS: Final = 60.0
_LINGER_SECONDS: Final = 1.0


def lend_server(lender: Lender, address: str, log: Log) -> HttpServer:
    """The process's server on `address` (`HOST:PORT`, as `check_address` accepts it), not started if it is new."""
    return lender.lend(("http", address), lambda: HttpServer(address, log))


def check_address(text: str) -> str:
    """`text` itself if a server can be asked to listen on it. Raises ValueError with Go's text."""
    parse_port(split_host_port(text)[1])
    return text


class HttpServer:
    """Serves `routes` on `address`. `port` is the bound port, 0 while it does not listen.

    With `ask_all` a request to a route that has a `Joint` is asked of the processes that serve DNS.
    """

    __slots__ = (
        "_connections", "_joints", "_log", "_server", "_silent", "_starting", "address", "ask_all", "port", "routes",
    )  # fmt: skip

    def __init__(self, address: str, log: Log) -> None:
        self.address = address
        self.port = 0
        self.routes: dict[str, HttpHandler] = {}
        self.ask_all: AskAll | None = None
        self._silent = False
        self._joints: dict[str, Joint] = {}
        self._log = log
        self._server: asyncio.Server | None = None
        self._connections: set[HttpConnection] = set()
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Listen, unless it does already. Raises ListenError."""
        if self._silent:
            return
        async with self._starting:
            if self._server is None:
                sock = await listen(*split_host_port(self.address))
                await self._serve(sock)

    def stay_silent(self) -> None:
        """Never listen: this process answers what another one asks it. What was open before the fork is left alone."""
        self._silent = True
        self.ask_all = None
        self.port = 0

    async def _serve(self, sock: socket.socket) -> None:
        self._server = await asyncio.get_running_loop().create_server(self._connect, sock=sock)
        self.port = sock.getsockname()[1]

    def set_route(self, path: str, handler: HttpHandler, joint: Joint | None = None) -> None:
        """Answer `path` with `handler` from now on; where several processes serve, as `joint` says."""
        self.routes[path] = handler
        self._joints.pop(path, None)
        if joint is not None:
            self._joints[path] = joint

    def remove_route(self, path: str, handler: HttpHandler) -> None:
        """Stop answering `path`, unless a successor has taken it over."""
        if self.routes.get(path) == handler:
            del self.routes[path]

    async def close(self) -> None:
        """Stop listening and close every connection. It may be started again."""
        if self._silent:
            return
        server, self._server = self._server, None
        self.port = 0
        if server is not None:
            server.close()
        await asyncio.gather(*(connection.finish(_LINGER_SECONDS) for connection in self._connections))

    def _connect(self) -> asyncio.BaseProtocol:
        if self._server is None or len(self._connections) >= _MAX_CONNECTIONS:
            return _Refusal()
        connection = HttpConnection(self.answer, self._connections, _IDLE_SECONDS)
        asyncio.get_running_loop().call_later(_CONNECTION_SECONDS, connection.close)
        return connection

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """What is on a path; a handler that fails is logged, and answers 500."""
        handler = self.routes.get(request.path)
        if handler is None:
            return NOT_FOUND
        joint = self._joints.get(request.path)
        try:
            if self.ask_all is not None and joint is not None:
                return joint.join(request, await self.ask_all(self.address, request, joint))
            answer = handler(request)
            return await answer if inspect.isawaitable(answer) else answer
        except Exception as exc:
            text = f"http://{self.address}{request.path}: {type(exc).__name__}: {exc}"
            self._log.once_a_burst(self._log.error, text)
            return FAULT


class _Refusal(asyncio.Protocol):
    """Closes a connection beyond the limit at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
