"""The process: start a supervisor, print the banner, obey signals, give the exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waypost.control.banner import banner
from waypost.control.faults import unhandled as unhandled
from waypost.control.output import standard_output
from waypost.control.supervisor import Settings, Supervisor
from waypost.control.watch import watch_configuration
from waypost.corefile.errors import CorefileError
from waypost.listeners.sockets import raise_descriptor_limit
from waypost.log import Log


@dataclass(frozen=True, slots=True)
class Process:
    """What concerns the process and not the configuration."""

    pidfile: str = ""
    quiet: bool = False
    announce: str = ""
    """Text to print once everything is served."""


def serve(settings: Settings, process: Process) -> int:
    """Serve until a signal ends it; gives the exit code. A configuration that does not start: its error, and 1."""
    log = Log(standard_output())
    raise_descriptor_limit()
    try:
        return asyncio.run(_serve(settings, process, log))
    except (CorefileError, OSError) as exc:
        print(exc, file=sys.stderr)
        return 1


async def _serve(settings: Settings, process: Process, log: Log) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    supervisor = Supervisor(settings, log, end)
    loop.set_exception_handler(lambda _, context: unhandled(supervisor, context, end))
    signals = Signals(supervisor, log, end)
    signals.install(loop)
    starting = loop.create_task(supervisor.start())
    await asyncio.wait((starting, ended), return_when=asyncio.FIRST_COMPLETED)
    if ended.done() or starting.cancelled():  # a signal came first
        starting.cancel()
        return await ended
    instance = starting.result()
    if not instance.plan.servers:
        end(0)
    if not process.quiet:
        for line in banner(supervisor):
            log.raw(line)
    if process.announce:
        log.raw(process.announce)
    _write_pidfile(process.pidfile, log)
    watcher = loop.create_task(watch_configuration(supervisor))
    try:
        return await ended
    finally:
        watcher.cancel()
        signals.cancel()
        if process.pidfile:
            _remove_pidfile(process.pidfile)


class Signals:
    """What each signal does; the tasks it starts are kept until they end."""

    def __init__(self, supervisor: Supervisor, log: Log, end: Callable[[int], None]) -> None:
        self._supervisor = supervisor
        self._log = log
        self._end = end
        self._tasks: set[asyncio.Task[None]] = set()
        self._interrupted = False

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take over the signals; SIGHUP is ignored."""
        loop.add_signal_handler(signal.SIGTERM, self._terminate)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGQUIT, self._quit)
        loop.add_signal_handler(signal.SIGUSR1, self._reload)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
        loop.add_signal_handler(signal.SIGUSR2, self._upgrade)

    def cancel(self) -> None:
        """End what still runs."""
        for task in self._tasks:
            task.cancel()

    def _terminate(self) -> None:
        self._log.info("SIGTERM: Shutting down servers then terminating")
        self._stop(graceful=True)

    def _interrupt(self) -> None:
        if self._interrupted:
            self._log.info("SIGINT: Force quit")
            self._end(2)
            return
        self._interrupted = True
        self._log.info("SIGINT: Shutting down")
        self._stop(graceful=False)

    def _quit(self) -> None:
        self._log.info("SIGQUIT: Quitting process immediately")
        self._end(0)

    def _upgrade(self) -> None:
        self._log.warning(
            "SIGUSR2: upgrading the binary in place is not supported; start a new process beside this one"
        )

    def _reload(self) -> None:
        self._keep(self._supervisor.reload_by_signal())

    def _stop(self, *, graceful: bool) -> None:
        self._keep(self._stop_then_end(graceful))

    async def _stop_then_end(self, graceful: bool) -> None:
        code = 0
        try:
            await self._supervisor.stop(graceful=graceful)
        except Exception as exc:
            self._log.error(f"Shutdown: {exc}")
            code = 4
        self._end(code)

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _write_pidfile(path: str, log: Log) -> None:
    if not path:
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{os.getpid()}\n")
    except OSError as exc:
        log.error(f"Could not write pidfile: open {path}: {os.strerror(exc.errno or 0).lower()}")


def _remove_pidfile(path: str) -> None:
    Path(path).unlink(missing_ok=True)
