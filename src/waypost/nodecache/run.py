"""The process beside the server: sets up the node, starts the server, watches it, and clears the node at the end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from typing import Final

from waypost.httpd.message import HttpResponse
from waypost.httpd.server import HttpServer
from waypost.httpd.socket import ListenError
from waypost.log import Log
from waypost.metrics.expose import CONTENT_TYPE, Exposition
from waypost.metrics.registry import Registry
from waypost.nodecache.claims import Claims
from waypost.nodecache.keeper import CorefileKeeper
from waypost.nodecache.metrics import Metrics
from waypost.nodecache.node import Node, make_redirect
from waypost.nodecache.server import ServerProcess
from waypost.nodecache.settings import Settings
from waypost.nodecache.watch import Watch

_SYNC_SECONDS: Final = 10.0
_BETWEEN_STARTS: Final = 1.0
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


async def run(settings: Settings, words: Sequence[str], environment: Mapping[str, str], log: Log) -> int:
    """Run until a signal ends it, or the server ends by itself; gives the exit code, which is the server's.

    `words` are the flags, for the server. Raises SetupError if there is nothing to serve or no way to do it.
    """
    registry = Registry()
    metrics = Metrics(registry)
    keeper = CorefileKeeper(settings, environment, log, metrics.failed)
    keeper.write_first()
    claims = Claims(settings.interface)
    node = Node(settings, await make_redirect(settings, claims), claims, log, metrics.failed)
    http = await _serve_metrics(settings.metrics_address, registry, log)
    process = _Process(settings, words, node, metrics, log)
    process.install_signals()
    try:
        await node.enter()
        syncing = asyncio.create_task(_sync(keeper, settings, process))
        try:
            return await process.run()
        finally:
            syncing.cancel()
            await node.leave()
    finally:
        if http is not None:
            await http.close()


class _Process:
    """One server after the other, until one ends by itself or a signal ends them."""

    def __init__(self, settings: Settings, words: Sequence[str], node: Node, metrics: Metrics, log: Log) -> None:
        self._settings = settings
        self._words = words
        self._metrics = metrics
        self._log = log
        self._watch = Watch(settings, node, metrics, log)
        self._server: ServerProcess | None = None
        self._watching: asyncio.Task[None] | None = None
        self._ending: signal.Signals | None = None

    def install_signals(self) -> None:
        """Ending signals end the watch and then the server; SIGUSR1 is the server's, SIGHUP is ignored."""
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGUSR1, self.tell, signal.SIGUSR1)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)

    def tell(self, number: signal.Signals) -> None:
        """Send the server a signal."""
        if self._server is not None:
            self._server.tell(number)

    async def run(self) -> int:
        """Gives the exit code."""
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            server = self._server = await ServerProcess.start(self._words, self._settings.pid_file)
            self._metrics.started()
            if self._is_ending():
                return await self._stop(server)
            self._watching = loop.create_task(self._watch.over(server))
            await asyncio.wait((self._watching,))
            if self._is_ending():
                return await self._stop(server)
            self._watching.result()
            code = await server.ended
            if code >= 0:
                self._log.error(f"The server ended with exit code {code}")
                return code
            self._log.error(f"The server was ended by signal {-code}: starting it again")
            await asyncio.sleep(max(0.0, started + _BETWEEN_STARTS - loop.time()))
            if self._is_ending():
                return 0

    async def _stop(self, server: ServerProcess) -> int:
        """Rules go first: what is asked from then on, others answer; what has arrived, the server still does."""
        if not self._settings.skips_teardown:
            await self._watch.withdraw()
        server.tell(self._ending or signal.SIGTERM)
        code = await server.ended
        return code if code >= 0 else 128 - code

    def _is_ending(self) -> bool:
        """Asked again after each wait."""
        return self._ending is not None

    def _end(self, number: signal.Signals) -> None:
        if self._ending is not None:
            self.tell(number)
            return
        self._log.info(f"{number.name}: withdrawing the rules, then ending the server")
        self._ending = number
        if self._watching is not None:
            self._watching.cancel()


async def _sync(keeper: CorefileKeeper, settings: Settings, process: _Process) -> None:
    while True:
        await asyncio.sleep(_SYNC_SECONDS)
        if keeper.look_again() and settings.reloads_with_signal:
            process.tell(signal.SIGUSR1)


async def _serve_metrics(address: str, registry: Registry, log: Log) -> HttpServer | None:
    """Without its port the rest goes on."""
    exposition = Exposition(registry)
    server = HttpServer(address, log)
    server.set_route("/metrics", lambda request: HttpResponse(200, CONTENT_TYPE, exposition.text()))
    try:
        await server.start()
    except ListenError as exc:
        log.error(f"metrics are not served: {exc}")
        return None
    return server
