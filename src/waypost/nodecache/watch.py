"""The watch over one server: rounds of questions, and what follows from them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from waypost.log import Log
from waypost.nodecache.metrics import Metrics
from waypost.nodecache.node import Node
from waypost.nodecache.probe import all_answer, local
from waypost.nodecache.server import ServerProcess
from waypost.nodecache.settings import Settings, health_checked
from waypost.nodecache.watchdog import INTERVAL, PATIENCE, State, after_round

_STARTING_POLL = 0.1


class Watch:
    """Watches one server after the other."""

    def __init__(self, settings: Settings, node: Node, metrics: Metrics, log: Log) -> None:
        self._settings = settings
        self._node = node
        self._metrics = metrics
        self._log = log

    async def over(self, server: ServerProcess) -> None:
        """Until the server ends; no rules stand then."""
        state = State()
        refreshed = -INTERVAL
        loop = asyncio.get_running_loop()
        while not server.ended.done():
            if loop.time() - refreshed >= INTERVAL:
                refreshed = loop.time()
                await self._node.refresh()
            pause = _STARTING_POLL
            if server.serves():
                answered = await self._ask(server, state.standing)
                decision = after_round(state, answered, loop.time(), self._settings.hang_timeout)
                await self._follow(state, decision.state)
                state, pause = decision.state, decision.pause
                if decision.kill:
                    self._log.error(f"The server was silent for {self._settings.hang_timeout:g}s: killing it")
                    server.tell(signal.SIGKILL)
            await asyncio.wait((server.ended,), timeout=pause)
        await self._follow(state, State())

    async def withdraw(self) -> None:
        """Let no rules stand any more."""
        self._tell_readiness(False)
        await self._node.stand(False)

    async def _ask(self, server: ServerProcess, standing: bool) -> bool:
        """One round, cut short if the server ends meanwhile."""
        wanted = self._settings.addresses
        asked = local(wanted if standing else [health_checked(wanted)])
        asking = asyncio.ensure_future(all_answer(asked, int(self._settings.port), PATIENCE))
        await asyncio.wait((asking, server.ended), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            return False
        self._metrics.asked(asking.result())
        return asking.result()

    async def _follow(self, before: State, now: State) -> None:
        await self._node.stand(now.standing)
        if now.standing != before.standing:
            if now.standing:
                self._log.info("The server answers: its rules stand")
            else:
                self._metrics.withdrew()
                self._log.warning("The server does not answer: its rules are withdrawn")
            self._metrics.answering(now.standing)
            self._tell_readiness(now.standing)

    def _tell_readiness(self, ready: bool) -> None:
        name = self._settings.ready_file
        if not name:
            return
        try:
            if ready:
                Path(name).touch()
            else:
                Path(name).unlink(missing_ok=True)
        except OSError as exc:
            self._log.once_a_burst(self._log.error, f"{name}: {os.strerror(exc.errno or 0).lower()}")
