"""The workers of a server: forked, asked together, replaced when they die, and told what changes."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from waypost.control.fork import Threads, fork
from waypost.control.instance import Instance
from waypost.control.member import Member, WorkerError, said
from waypost.control.messages import Abort, Change, Channel, Commit, Count, Http, Prepare, Stop
from waypost.control.outlets import Holding
from waypost.control.worker import Worker
from waypost.control.workshop import Workshop
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile
from waypost.httpd.join import Joint
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer
from waypost.metrics import sums
from waypost.metrics.registry import Whole

_BEAT: Final = 1.0
_SILENT: Final = 30.0
_SCRAPE_SECONDS: Final = 1.0
# Start hooks have their own limits; this is for a worker that hangs.
_PREPARE_SECONDS: Final = 60.0
_COMMIT_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 20.0
# A worker that ends sooner is taken for one that will end again.
_EARLY: Final = 10.0
_RESPONSE: Final = msgspec.msgpack.Decoder(HttpResponse)


def pause(early: int) -> float:
    """Seconds before a worker is replaced, after so many that ended early in succession; the first at once."""
    return 0.0 if early == 0 else min(0.5 * 2 ** (early - 1), 30.0)


class Crew:
    """All workers by their number. A configuration that they get is one that the supervisor holds, too."""

    def __init__(self, workshop: Workshop) -> None:
        """To be made in the running loop."""
        self.members: dict[int, Member] = {}
        self._workshop = workshop
        self._log = workshop.log
        self._threads = Threads()
        self._given: Instance | None = None
        self._next: Instance | None = None
        self._size = 0
        self._early: dict[int, int] = {}
        self._changing = asyncio.Lock()
        self._stopping = False
        self._led: dict[str, object] = {}
        self._copied: list[tuple[Member, str]] = []
        """What the configuration that is being prepared brings."""
        self._others = sums.Others()
        self._tasks: set[asyncio.Task[None]] = set()
        workshop.metrics.whole = self.counted
        self._keep(self._beat())

    async def prepare(self, instance: Instance, corefile: Corefile | None, digest: str) -> None:
        """Let every worker set the configuration up beside its own; those that are still missing are forked with it.

        At first all are missing. Raises CorefileError with the first worker's reason; they are as they were then. Else
        `commit` and `settle` come next.
        """
        await self._changing.acquire()
        self._next = instance
        self._copied.clear()
        try:
            self._lead()
            self._ask_all_of_http()
            asked = [
                (member, self._prepare(member, instance, Prepare(corefile, digest))) for member in self._kept(instance)
            ]
            for number in range(self._size, instance.plan.workers):
                member = await self._fork(number, instance)
                asked.append((member, member.begin_to_ask(Prepare())))
            await _all(member.answered(answer, _PREPARE_SECONDS) for member, answer in asked)
        except BaseException as exc:
            await asyncio.shield(self._abort(instance))
            if isinstance(exc, WorkerError):
                raise CorefileError.unlocated(str(exc)) from exc
            raise

    async def commit(self) -> None:
        """The prepared configuration serves now; workers beyond its number end. What fails is logged."""
        assert self._next is not None
        self._given, self._next = self._next, None
        self._size = size = self._given.plan.workers
        work: list[Coroutine[Any, Any, None]] = []
        for member in list(self.members.values()):
            if member.number >= size:
                member.leaving = True
                work.append(self._end(member))
            else:
                member.serving = True
                answer = member.begin_to_ask(Commit())
                work.append(self._logged(member.answered(answer, _COMMIT_SECONDS)))
        await asyncio.gather(*work)

    def settle(self) -> None:
        """Nothing of the former configuration is left."""
        assert self._given is not None
        assert isinstance(self._given.outlet, Holding)
        names = self._workshop.pool.replicated()
        self._led = {name: item for name, item in self._led.items() if names.get(name) is item}
        for member in self.members.values():
            member.copies &= names.keys()
            member.sockets = set(self._given.outlet.of(member.number))
        self._changing.release()
        for number in set(range(self._size)) - self.members.keys():  # one that ended while it was not counted yet
            self._keep(self._replace(number, 0.0))

    async def stop(self, *, graceful: bool) -> None:
        """End all workers; `graceful`: after they have answered what has arrived."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        members = list(self.members.values())
        if graceful:
            await asyncio.gather(*(self._end(member) for member in members))
        for member in members:
            member.kill()
        await asyncio.gather(*(member.gone() for member in members))

    async def counted(self) -> Whole:
        """What all processes have counted, this one and those that are gone included."""
        await asyncio.gather(*(self._count(member, _SCRAPE_SECONDS) for member in self.members.values()))
        counts = [sums.count(self._workshop.metrics), *self._others.counts()]
        return Whole(sums.total(counts), [member.pid for member in self.members.values()])

    async def ask_http(self, address: str, request: HttpRequest, joint: Joint) -> Sequence[HttpResponse]:
        """What each worker's server of an address answers; of those that do not run it is 503."""
        headers = {name.title(): value for name, value in request.headers.items()}
        asked = Http(address, request.method, request.path, request.query, headers)
        numbers: Sequence[int] = range(self._size)
        if joint.first:
            numbers = [min((n for n, member in self.members.items() if member.serving), default=0)]
        return await asyncio.gather(*(self._ask_http(number, asked, joint.seconds) for number in numbers))

    async def _ask_http(self, number: int, request: Http, seconds: float) -> HttpResponse:
        member = self.members.get(number)
        if member is None or not member.serving:
            return plain(503, f"worker {number} does not run\n")
        try:
            return _RESPONSE.decode(await member.ask(request, seconds))
        except WorkerError as exc:
            return plain(503, f"{exc}\n")

    async def _fork(self, number: int, instance: Instance) -> Member:
        """A worker that waits for its first request. Raises OSError."""
        assert isinstance(instance.outlet, Holding)
        sockets = instance.outlet.of(number)
        ours, theirs = socket.socketpair()
        passing, passed = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        member = Member(number, await Channel.on(ours), passing, sockets, self._workshop.exit)
        worker = Worker(number, self._workshop, instance, sockets, theirs, passed)
        keep = {sock.fileno() for sock in (theirs, passed, *sockets.values())}

        def act() -> None:
            pid = fork(worker.run, keep)
            member.begin(pid, self._workshop.pool.replicated(), self._ended)
            self.members[number] = member

        try:
            await self._threads.alone(act)
        finally:
            theirs.close()
            passed.close()
        return member

    def _prepare(self, member: Member, instance: Instance, request: Prepare) -> asyncio.Future[msgspec.Raw]:
        """With its sockets, and the content of what it has no copy of yet."""
        assert isinstance(instance.outlet, Holding)
        answer = member.prepare(request, instance.outlet.of(member.number))
        for name, item in self._workshop.pool.replicated().items():
            if name not in member.copies:
                member.copies.add(name)
                self._copied.append((member, name))
                for data in item.whole():
                    member.tell(Change(name, data))
        return answer

    async def _abort(self, instance: Instance) -> None:
        """All drop the configuration that was prepared; those that were forked with it end."""
        self._next = None
        work = [self._logged(member.ask(Abort(), _COMMIT_SECONDS)) for member in self._kept(instance)]
        extra = [member for member in self.members.values() if member.number >= self._size]
        for member in extra:
            member.leaving = True
            member.kill()
        await asyncio.gather(*work, *(member.gone() for member in extra))
        for member in extra:
            self._others.lose(member.pid)
        for member, name in self._copied:
            member.copies.discard(name)
        self._changing.release()

    def _kept(self, instance: Instance) -> list[Member]:
        size = min(self._size, instance.plan.workers)
        return [member for member in self.members.values() if member.number < size]

    def _lead(self) -> None:
        """Tell workers of changes in everything that they have copies of."""
        for name, item in self._workshop.pool.replicated().items():
            if self._led.get(name) is not item:
                self._led[name] = item
                item.lead(partial(self._tell, name))

    def _tell(self, name: str, data: bytes) -> None:
        change = Change(name, data)
        for member in self.members.values():
            member.tell(change)

    def _ask_all_of_http(self) -> None:
        for item, _ in self._workshop.pool.entries.values():
            if isinstance(item, HttpServer):
                item.ask_all = self.ask_http

    def _ended(self, member: Member, code: int) -> None:
        """A worker is gone: it is replaced, unless it was to go."""
        if self.members.get(member.number) is member:
            del self.members[member.number]
        if member.leaving:
            return
        self._others.lose(member.pid)
        if self._stopping or member.number >= self._size:
            return
        early = time.monotonic() - member.started < _EARLY
        self._early[member.number] = self._early.get(member.number, -1) + 1 if early else 0
        seconds = pause(self._early[member.number])
        when = f" in {seconds:g} s" if seconds else ""
        self._log.error(f"{member} ended ({said(code)}): it is replaced{when}")
        self._keep(self._replace(member.number, seconds))

    async def _replace(self, number: int, seconds: float) -> None:
        """Fork a worker anew, with the sockets of the one that is gone and what waits in them."""
        await asyncio.sleep(seconds)
        async with self._changing:
            if self._given is None or number >= self._size or number in self.members:
                return
            try:
                member = await self._fork(number, self._given)
            except OSError as exc:
                self._log.error(f"worker {number} cannot be forked: {exc}")
                self._keep(self._replace(number, pause(4)))
                return
            try:
                await member.ask(Prepare(), _PREPARE_SECONDS)
                member.serving = True
                await member.ask(Commit(), _COMMIT_SECONDS)
            except WorkerError as exc:
                self._log.error(f"worker {number} does not start: {exc}")
                member.kill()

    async def _beat(self) -> None:
        """Look after every worker once a second, for ever: one that has been silent for long is ended."""
        heard: dict[int, float] = {}
        asking: dict[int, asyncio.Task[bool]] = {}
        while True:
            await asyncio.sleep(_BEAT)
            now = time.monotonic()
            pids = {member.pid: member for member in self.members.values()}
            heard = {pid: heard.get(pid, now) for pid in pids}
            asking = {pid: task for pid, task in asking.items() if pid in pids}
            for pid, member in pids.items():
                task = asking.get(pid)
                if task is not None and not task.done():
                    if now - heard[pid] > _SILENT:
                        self._log.error(f"{member} has been silent for {_SILENT:g} s: it is ended")
                        member.kill()
                    continue
                heard[pid] = now
                asking[pid] = asyncio.create_task(self._count(member, 2 * _SILENT))

    async def _count(self, member: Member, seconds: float) -> bool:
        try:
            told = sums.decode(await member.ask(Count(), seconds))
        except WorkerError:
            return False
        if self.members.get(member.number) is member:
            self._others.take(member.pid, told)
        return True

    async def _end(self, member: Member) -> None:
        """Let a worker answer what it has, and end."""
        member.leaving = True
        try:
            self._others.take(member.pid, sums.decode(await member.ask(Stop(), _STOP_SECONDS)))
        except WorkerError as exc:
            self._log.error(f"Shutdown: {exc}")
            member.kill()
        await member.gone()
        self._others.lose(member.pid)

    async def _logged(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except WorkerError as exc:
            self._log.error(f"Reloading: {exc}")

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _all(work: Any) -> None:
    """Wait for all; the first error goes on once all have ended."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
