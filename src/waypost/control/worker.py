"""A worker: a process that answers queries on its own sockets, and does what the supervisor asks."""

from __future__ import annotations

import asyncio
import gc
import os
import socket

import msgspec

from waypost.control.faults import unhandled
from waypost.control.instance import Instance, Role
from waypost.control.lender import Lease, Replicated
from waypost.control.messages import (
    ASKED,
    Abort,
    Answer,
    Asked,
    Change,
    Channel,
    Commit,
    Count,
    Exit,
    Http,
    Prepare,
    Request,
    Stop,
)
from waypost.control.outlets import Listening, SocketKey, bound
from waypost.control.workshop import Workshop
from waypost.httpd.message import HttpRequest
from waypost.httpd.server import HttpServer
from waypost.metrics import sums

_KEY_SIZE = 4096
_KEYS = msgspec.msgpack.Decoder(SocketKey)


class Worker:
    """The state of one worker process from the fork on.

    `instance` is the configuration as the supervisor has it, set up and not started here; `sockets` are this worker's.
    Further ones, for later configurations, come over `passed` before they are needed.
    """

    def __init__(
        self,
        number: int,
        workshop: Workshop,
        instance: Instance,
        sockets: dict[SocketKey, socket.socket],
        told: socket.socket,
        passed: socket.socket,
    ) -> None:
        self._number = number
        self.log = workshop.log
        self._workshop = workshop
        self._inherited = [item for item, _ in workshop.pool.entries.values()]
        """Kept, so that nothing is closed late which the supervisor had opened."""
        self._given = instance
        self._sockets = sockets
        self._told = told
        self._passed = passed
        self._copies: dict[str, Replicated] = {}
        self._running: Instance | None = None
        self._prepared: Instance | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False

    @property
    def debugging(self) -> bool:
        """True if a listener has `debug`: a fault of a plugin there ends everything."""
        running = self._running
        return running is not None and running.debugging

    def run(self) -> int:
        """Serve until the supervisor says otherwise or is gone; gives the exit code."""
        self._workshop.metrics.whole = None
        sums.begin(self._workshop.metrics)
        self._passed.setblocking(False)
        return asyncio.run(self._serve())

    async def _serve(self) -> int:
        channel = await Channel.on(self._told)

        def end(code: int) -> None:
            channel.send(Exit(code))

        self._workshop.exit = end
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled(self, context, end))
        self._follow()
        try:
            while not self._ended:
                asked = ASKED.decode(await channel.receive())
                self._take(asked, channel)
        except (EOFError, OSError):
            if not self._ended:  # the supervisor is gone
                os._exit(0)
        channel.close()
        return 0

    def _take(self, asked: Asked, channel: Channel) -> None:
        request = asked.request
        if isinstance(request, Change):
            copy = self._copies.get(request.name)
            if copy is not None:
                copy.take(request.data)
            return
        begun: Instance | Exception | None = None
        if isinstance(request, Prepare):  # set up before the next message, which may bring its data
            try:
                begun = self._set_up(request)
            except Exception as exc:
                begun = exc
        task = asyncio.get_running_loop().create_task(self._answer(asked.number, request, begun, channel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(
        self, number: int, request: Request, begun: Instance | Exception | None, channel: Channel
    ) -> None:
        try:
            if isinstance(begun, Exception):
                raise begun
            value = await self._do(request, begun)
            channel.send(Answer(number, msgspec.Raw(msgspec.msgpack.encode(value))))
        except Exception as exc:
            channel.send(Answer(number, error=str(exc) or type(exc).__name__))
        if isinstance(request, Stop):
            await channel.flush()
            self._ended = True
            channel.close()

    async def _do(self, request: Request, begun: Instance | None) -> object:
        match request:
            case Prepare():
                assert begun is not None
                await begun.start()
                self._prepared = begun
            case Commit():
                await self._commit()
            case Abort():
                await self._abort()
            case Stop():
                if self._running is not None:
                    await self._running.stop()
                return sums.count(self._workshop.metrics)
            case Count():
                return sums.count(self._workshop.metrics)
            case Http():
                return await self._http(request)
        return None

    def _set_up(self, request: Prepare) -> Instance:
        """Raises CorefileError."""
        self._take_sockets()
        if request.corefile is None:
            instance = self._given
        else:
            instance = self._workshop.prepare(request.corefile, request.digest)
        lease = Lease(self._workshop.pool)
        outlet = Listening(instance.plan, lease, self._workshop.metrics, self._bound, self._number)
        instance.assume(Role.WORKER, outlet)
        self._follow()
        return instance

    def _bound(self, key: SocketKey) -> socket.socket:
        """The supervisor's socket, or if it has not come one of our own."""
        return self._sockets.pop(key, None) or bound(key)

    def _take_sockets(self) -> None:
        while True:
            try:
                data, (descriptor, *_), _, _ = socket.recv_fds(self._passed, _KEY_SIZE, 1)
            except (BlockingIOError, ValueError):
                return
            self._sockets[_KEYS.decode(data)] = socket.socket(fileno=descriptor)

    def _follow(self) -> None:
        """What is replicated comes from the supervisor, and HTTP requests do."""
        replicated = self._workshop.pool.replicated()
        for name, copy in replicated.items():
            if self._copies.get(name) is not copy:
                copy.follow()
        self._copies = replicated
        for server in self._http_servers().values():
            server.stay_silent()

    def _http_servers(self) -> dict[str, HttpServer]:
        lent = (item for item, _ in self._workshop.pool.entries.values())
        return {item.address: item for item in lent if isinstance(item, HttpServer)}

    async def _commit(self) -> None:
        new, self._prepared = self._prepared, None
        assert new is not None
        old, self._running = self._running, new
        for step in (new.activate, *([old.stop] if old is not None else [])):
            try:
                await step()
            except Exception as exc:  # the new one serves: there is no way back
                self.log.error(f"Reloading: {exc}")
        self._forget_sockets()
        gc.collect()

    async def _abort(self) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            await prepared.stop()
        self._forget_sockets()

    def _forget_sockets(self) -> None:
        """Those that no listener took: the supervisor passes them again when they are wanted."""
        for sock in self._sockets.values():
            sock.close()
        self._sockets.clear()
        self._copies = self._workshop.pool.replicated()

    async def _http(self, request: Http) -> object:
        server = self._http_servers().get(request.address)
        if server is None:
            return (404, "text/plain; charset=utf-8", b"nobody answers here\n", ())
        asked = HttpRequest(request.method, request.path, request.query, request.headers)
        return await server.answer(asked)
