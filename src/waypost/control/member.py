"""One worker, as the supervisor sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Iterable
from itertools import count

import msgspec

from waypost.control.fork import exit_code
from waypost.control.messages import SAID, Asked, Change, Channel, Exit, Prepare, Request
from waypost.control.outlets import SocketKey

# A worker that leaves so much untaken has stopped: a new one begins with everything.
_MOST_WAITING = 256 << 20
_REAP_SECONDS = 2.0


class WorkerError(Exception):
    """A worker says why it did not do what it was asked, or it is gone, or silent."""


class Member:
    """A worker process: what it has, and what it is asked.

    `sockets` are those it was given, `copies` the names of what it has copies of.
    """

    def __init__(
        self,
        number: int,
        channel: Channel,
        passing: socket.socket,
        sockets: Iterable[SocketKey],
        exit_process: Callable[[int], None],
    ) -> None:
        self.number = number
        self.pid = 0
        self.sockets = set(sockets)
        self.copies: set[str] = set()
        self.leaving = False
        self.serving = False
        self.started = 0.0
        self._channel = channel
        self._passing = passing
        self._exit = exit_process
        self._asked: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._numbers = count()
        self._reader: asyncio.Task[None] | None = None

    def begin(self, pid: int, copies: Iterable[str], ended: Callable[[Member, int], None]) -> None:
        """It runs now. `ended` is called with how it ended, as `os.waitstatus_to_exitcode` has it."""
        self.pid = pid
        self.copies = set(copies)
        self.started = time.monotonic()
        self._reader = asyncio.get_running_loop().create_task(self._read(ended))

    def begin_to_ask(self, request: Request) -> asyncio.Future[msgspec.Raw]:
        """Send a request now; the answer is a value in MessagePack. Its exception is a WorkerError."""
        number = next(self._numbers)
        answer: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        if self._reader is None or self._reader.done():
            answer.set_exception(WorkerError(f"{self} is gone"))
            return answer
        self._asked[number] = answer
        answer.add_done_callback(lambda _: self._asked.pop(number, None))
        self._channel.send(Asked(number, request))
        return answer

    async def ask(self, request: Request, seconds: float) -> msgspec.Raw:
        """The answer. Raises WorkerError, also after so many seconds."""
        return await self.answered(self.begin_to_ask(request), seconds)

    async def answered(self, answer: asyncio.Future[msgspec.Raw], seconds: float) -> msgspec.Raw:
        """Wait for an answer. Raises WorkerError."""
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise WorkerError(f"{self} does not answer within {seconds:g} s") from None

    def prepare(self, request: Prepare, sockets: dict[SocketKey, socket.socket]) -> asyncio.Future[msgspec.Raw]:
        """Begin to prepare a configuration with these sockets, of which it is given those that it has not."""
        for key, sock in sockets.items():
            if key not in self.sockets:
                socket.send_fds(self._passing, [msgspec.msgpack.encode(key)], [sock.fileno()])
        return self.begin_to_ask(request)

    def tell(self, change: Change) -> None:
        """A change of something that it has a copy of; what it has no copy of is nothing to it."""
        if change.name not in self.copies:
            return
        if self._channel.waiting > _MOST_WAITING:
            self.kill()
        else:
            self._channel.send(Asked(0, change))

    def kill(self) -> None:
        """End it at once; whoever is called for its end is called."""
        if self._reader is not None and not self._reader.done():
            os.kill(self.pid, signal.SIGKILL)

    async def gone(self) -> None:
        """Returns when it has ended and was waited for."""
        if self._reader is not None:
            await asyncio.wait([self._reader])

    async def _read(self, ended: Callable[[Member, int], None]) -> None:
        try:
            while True:
                self._hear(await self._channel.receive())
        except (EOFError, OSError, msgspec.DecodeError):
            self._channel.close()
            self._passing.close()
        code = await exit_code(self.pid, _REAP_SECONDS)
        for answer in list(self._asked.values()):
            if not answer.done():
                answer.set_exception(WorkerError(f"{self} ended ({said(code)})"))
        ended(self, code)

    def _hear(self, data: bytes) -> None:
        message = SAID.decode(data)
        if isinstance(message, Exit):
            self._exit(message.code)
            return
        answer = self._asked.get(message.number)
        if answer is None or answer.done():
            return
        if message.error:
            answer.set_exception(WorkerError(message.error))
        else:
            answer.set_result(message.value)

    def __str__(self) -> str:
        return f"worker {self.number} (process {self.pid})"


def said(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
