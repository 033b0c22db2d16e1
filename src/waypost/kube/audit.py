"""A list under a live watch: finds what the watch never told, and mends it.

A watch that skips events says nothing about it, and no version shows it: bookmarks and later events pass over the gap.
So now and then the whole state is listed while the watch goes on, and laid over the sink. What the watch tells
meanwhile is newer than the list or the same, so it wins, object by object. An object that the watch must have told of,
by its version, and that still changes something was lost. So was one that is not listed, once the watch has passed
the list's version without telling of its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Generic

from waypost.kube.client import ApiClient
from waypost.kube.errors import ClusterError
from waypost.kube.following import Counters, Log, Sink
from waypost.kube.listwatch import PAGE_LIMITS, ObjectT, Resource, ResourceDecoder, version_number

SLICE = 64
"""Objects of a list that are handed on before the event loop gets a turn."""
_LOOKS = 15


@dataclass(frozen=True, slots=True)
class AuditTiming:
    """Times in seconds. A kind is read again `every` so often, but no more than `rate` objects a second on average."""

    every: float = 300.0
    rate: float = 10.0
    page_pause: float = 0.5
    """Between two pages; all of them must come before the server forgets the list, which it does after 5 minutes."""
    catch_up: float = 75.0
    """How long the watch is given to reach the list's version; bookmarks, a minute apart, let it do that."""


class Auditor(Generic[ObjectT]):
    """A sink before the real one, through which all goes: it learns what lists and the watch say."""

    def __init__(
        self,
        resource: Resource[ObjectT],
        client: ApiClient,
        decoder: ResourceDecoder[ObjectT],
        sink: Sink[ObjectT],
        *,
        counters: Counters,
        log: Log,
        timing: AuditTiming,
        changes: Callable[[], int],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        rng: Random,
    ) -> None:
        """`changes` counts what has changed in the sink's state."""
        self._resource = resource
        self._client = client
        self._decoder = decoder
        self._sink = sink
        self._counters = counters
        self._log = log
        self._timing = timing
        self._changes = changes
        self._clock = clock
        self._sleep = sleep
        self._rng = rng
        self._objects = 0
        self._due: float | None = None
        self._version = 0
        self._told: set[tuple[str, str]] = set()
        self._task: asyncio.Task[None] | None = None

    def begin_list(self) -> None:
        """The reflector lists: that makes an audit needless."""
        self.drop()
        self._objects = 0
        self._sink.begin_list()

    def listed(self, obj: ObjectT, /) -> None:
        """An object of the reflector's list."""
        self._objects += 1
        self._sink.listed(obj)

    def end_list(self) -> None:
        """The reflector's list is whole: the next audit is due some time after it."""
        self._sink.end_list()
        self._plan()

    def abort_list(self) -> None:
        """The reflector's list broke off."""
        self._sink.abort_list()

    def changed(self, obj: ObjectT, /) -> None:
        """The watch tells of an object. It is kept, whether the running audit's list has it or not."""
        self._sink.changed(obj)
        if self._task is not None:
            self._told.add((obj.metadata.namespace, obj.metadata.name))
            self._sink.listed(obj)

    def removed(self, namespace: str, name: str, /) -> None:
        """The watch tells of an object's end."""
        if self._task is not None:
            self._told.add((namespace, name))
        self._sink.removed(namespace, name)

    def reached(self, version: int) -> None:
        """The watch has told everything up to this version. Starts an audit if one is due."""
        self._version = version
        if self._task is None and self._due is not None and self._clock() >= self._due:
            self._due = None
            self._told.clear()
            self._task = asyncio.get_running_loop().create_task(self._run())

    def drop(self) -> None:
        """End a running audit: the sink belongs to the caller."""
        self._due = None
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self._sink.abort_list()

    def _plan(self) -> None:
        interval = max(self._timing.every, self._objects / self._timing.rate)
        self._due = self._clock() + interval * (1.0 - 0.2 * self._rng.random())

    async def _run(self) -> None:
        """Whatever goes wrong, the watch goes on, and the next audit comes."""
        counters, kind = self._counters, self._resource.go_type
        mended = counters.mended
        try:
            whole = await self._audit()
        except Exception as error:
            whole = False
            counters.errors += 1
            cause = str(error) if isinstance(error, ClusterError) else f"{type(error).__name__}: {error}"
            self._log.info(f"{kind} could not be compared with a list: {cause}")
        self._task = None
        if whole:
            counters.audits += 1
            counters.last_sync = self._clock()
        else:
            self._sink.abort_list()
        if counters.mended > mended:
            self._log.error(f"{kind}: the watch lost changes of {counters.mended - mended} objects; a list mended them")
        self._plan()

    async def _audit(self) -> bool:
        """List and mend. False if the server knows less than the watch has told. Raises ClusterError."""
        began = self._version
        self._sink.begin_list()
        params = {**self._resource.selectors(), "limit": str(PAGE_LIMITS[0])}
        self._objects = 0
        while True:
            page = self._decoder.page(await self._client.get_json_bytes(self._resource.path, params))
            version = version_number(page.metadata.resource_version)
            if version < began:
                return False
            for obj in page.items or ():
                self._lay_over(obj)
                if self._objects % SLICE == 0:
                    await asyncio.sleep(0)
            if not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_
            await self._sleep(self._timing.page_pause)
        await self._finish(version)
        return True

    def _lay_over(self, obj: ObjectT) -> None:
        meta = obj.metadata
        self._objects += 1
        if (meta.namespace, meta.name) in self._told:
            return
        before = self._changes()
        self._sink.listed(obj)
        if self._changes() != before and version_number(meta.resource_version) <= self._version:
            self._counters.mended += 1

    async def _finish(self, version: int) -> None:
        """Drop what was not listed. It was lost only if the watch had the time to tell of it."""
        for _ in range(_LOOKS):
            if self._version >= version:
                break
            await self._sleep(self._timing.catch_up / _LOOKS)
        before = self._changes()
        self._sink.end_list()
        if self._version >= version:
            self._counters.mended += self._changes() - before
