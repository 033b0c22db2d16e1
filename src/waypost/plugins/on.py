"""on: run a command when the server starts or ends.

on startup|shutdown|certrenew COMMAND [ARGS...] [&]
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import uuid
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site, once
from waypost.log import Log

STARTUP: Final = "startup"
SHUTDOWN: Final = "shutdown"
CERTRENEW: Final = "certrenew"
_EVENTS: Final = (STARTUP, SHUTDOWN, CERTRENEW)
_QUOTING: Final = {
    "No closing quotation": "EOF found when expecting closing quote",
    "No escaped character": "EOF found after escape character",
}
# A pod has 30 seconds from the request to end until it is killed.
_SHUTDOWN_SECONDS: Final = 10.0
# How long a command may take to end once it is asked to.
_GRACE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Command:
    """What to run at which event. `words` are the program and its arguments; nobody waits for one in background."""

    event: str
    words: tuple[str, ...]
    background: bool = False

    def __str__(self) -> str:
        return f"{self.words[0]} {' '.join(self.words[1:])}"


@dataclass(frozen=True, slots=True)
class Config:
    """Commands in file order."""

    commands: tuple[Command, ...]

    def at(self, event: str) -> list[Command]:
        """Those of one event."""
        return [command for command in self.commands if command.event == event]


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    commands = []
    while cursor.next():
        if not cursor.next_arg():
            raise cursor.arg_err()
        event = cursor.value.lower()
        if event not in _EVENTS:
            raise cursor.err(f"Wrong event name or event not supported: '{cursor.value}'")
        text = " ".join(cursor.remaining_args())
        try:
            words = shlex.split(text, comments=True)
        except ValueError as exc:
            raise cursor.err(f"error parsing command: {_QUOTING.get(str(exc), str(exc))}") from exc
        if not words:
            raise cursor.err(f"no command contained in '{text}'")
        background = len(words) > 1 and words[-1] == "&"
        commands.append(Command(event, tuple(words[:-1] if background else words), background))
    return Config(tuple(commands))


def setup(directive: Directive, site: Site) -> None:
    """Run commands once the configuration serves, and when the process is asked to end."""
    config = parse(directive)
    if config.at(CERTRENEW):
        site.services.log.warning(f"on {CERTRENEW}: this event never happens, as in CoreDNS")
    runner = site.services.lender.lend("on", lambda: Runner(site.services.log))
    site.hooks.active.append(once(lambda: runner.start(config.at(STARTUP))))
    site.hooks.final.append(lambda: runner.run_at_end(config.at(SHUTDOWN)))


class Runner:
    """Runs the commands of the process. They outlive a reload, and end at the latest when the process does.

    Each is waited for by a task, and whatever cancels the task ends the command: the end of the loop does it, too.
    """

    __slots__ = ("_log", "_tasks")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, commands: Iterable[Command]) -> None:
        """Run commands one after the other while the server goes on; one in background is not waited for."""
        self._task(self._run_each(commands))

    async def run_at_end(self, commands: Iterable[Command]) -> None:
        """The same, to be waited for, which takes ten seconds at most."""
        try:
            async with asyncio.timeout(_SHUTDOWN_SECONDS):
                await self._run_each(commands)
        except TimeoutError:
            self._log.error(f"Commands on {SHUTDOWN} were ended: they took more than {_SHUTDOWN_SECONDS:g} s")

    async def close(self) -> None:
        """End every command."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run_each(self, commands: Iterable[Command]) -> None:
        for command in commands:
            running = self._task(self._run(command))
            if not command.background:
                await running

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self, command: Command) -> None:
        """One command from start to end, its failure logged."""
        number = uuid.uuid4()
        kind = "Nonblocking" if command.background else "Blocking"
        self._log.info(f'{kind} Command "{command}" with ID {number}')
        try:
            # In a group of its own: an interrupt on the terminal is for us alone, and what it starts ends with it.
            process = await asyncio.create_subprocess_exec(*command.words, stdin=DEVNULL, process_group=0)
        except (OSError, ValueError) as exc:
            reason = (exc.strerror or str(exc)).lower() if isinstance(exc, OSError) else str(exc)
            self._log.error(f"error on 'on-{number}' hook: exec: \"{command.words[0]}\": {reason}")
            return
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _end(process)
            raise
        if code:
            how = f"exit status {code}" if code > 0 else f"signal: {signal.Signals(-code).name}"
            self._log.error(f"error on 'on-{number}' hook: {how}")


async def _end(process: Process) -> None:
    """Ask the command and what it started to end, then make them."""
    for number, seconds in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), seconds)
            return
