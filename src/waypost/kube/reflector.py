"""Keeps a sink true to one resource of the API server, for ever: list, then watch, then whatever goes wrong.

    run ── no version ──► initial watch (WatchList) ──refused──► LIST in pages
     │                         │ same stream goes on                  │
     └── version known ──► watch from the version ◄───────────────────┘
                               │ ended: again, from the last version
                               │ unreachable, 429, 5xx, 401, 403: again after a pause
                               │ expired, nonsense, silent twice: no version any more

The sink keeps what it has through all of this. A new list is laid over the old state, object by object; what it did
not name is removed at its end, so that nobody ever sees a half-empty cluster. Beside the watch, `kube.audit` looks now
and then whether it told everything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random
from typing import Generic, NoReturn

from waypost.kube.audit import SLICE, Auditor, AuditTiming
from waypost.kube.backoff import Backoff
from waypost.kube.client import ApiClient
from waypost.kube.errors import ApiStatusError, ApiUnreachable, ClusterError
from waypost.kube.following import Counters, Log, Sink
from waypost.kube.listwatch import (
    Bookmark,
    Change,
    Deleted,
    Event,
    ObjectT,
    Resource,
    ResourceDecoder,
    list_pages,
    version_number,
    watch,
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds. The first four are client-go's."""

    first_pause: float = 0.8
    longest_pause: float = 30.0
    quiet: float = 120.0
    watch_seconds: tuple[int, int] = (300, 600)
    grace: float = 30.0
    """Silence granted to a watch beyond the end that it was asked for."""
    bookmark_gap: float = 75.0
    """Bookmarks at most this far apart are regular: API servers send one a minute."""
    stale: float = 90.0
    """Silence after which a watch with regular bookmarks is dead."""
    initial_silence: float = 10.0
    """Silence within the initial events after which LIST is tried instead."""
    short_watch: float = 1.0
    """A watch that ends sooner, with nothing said, is a failure."""
    longest_retry_after: float = 300.0
    audit: AuditTiming = field(default_factory=AuditTiming)


_UNMOVED = 0.01
"""How wrong the timer of a watch's silence may be, as a part of that silence."""


class InitialEventsRefused(Exception):
    """The server does not do what an initial watch asks for, or says that it cannot."""


class Reflector(Generic[ObjectT]):
    """One resource, followed by one task running `run`."""

    def __init__(
        self,
        resource: Resource[ObjectT],
        client: ApiClient,
        sink: Sink[ObjectT],
        *,
        log: Log,
        timing: Timing = Timing(),
        initial_events: bool = True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: Random | None = None,
        changes: Callable[[], int] = lambda: 0,
    ) -> None:
        """`initial_events` false means LIST from the start; `rng` jitters pauses and the length of watches.

        `changes` counts the changes of the sink's state; without it audits mend, but cannot tell what.
        """
        self.counters = Counters()
        self._resource = resource
        self._client = client
        self._decoder = ResourceDecoder(resource)
        self._log = log
        self._timing = timing
        self._initial_events = initial_events
        self._clock = clock
        self._sleep = sleep
        self._rng = rng or Random()
        self._backoff = Backoff(clock, self._rng, timing.first_pause, timing.longest_pause, timing.quiet)
        self._version: int | None = None
        self._listing = False
        self._synced = asyncio.Event()
        self._silent_watches = 0
        self._in_step = False
        self._bookmarks_regular = False
        self._bookmark_at: float | None = None
        self._logged = ""
        self._sink = Auditor(
            resource, client, self._decoder, sink, counters=self.counters, log=log, timing=timing.audit,
            changes=changes, clock=clock, sleep=sleep, rng=self._rng,
        )  # fmt: skip

    @property
    def synced(self) -> bool:
        """True once the whole state was read; it stays true."""
        return self._synced.is_set()

    @property
    def version(self) -> int | None:
        """The resourceVersion up to which the sink is true, None if it has to be listed again."""
        return self._version

    async def wait_synced(self) -> None:
        """Returns when `synced` is true."""
        await self._synced.wait()

    async def run(self) -> NoReturn:
        """Follows the resource until cancelled."""
        try:
            while True:
                await self._once()
        finally:
            self._sink.drop()

    async def _once(self) -> None:
        try:
            if self._version is not None:
                await self._watch(self._version)
            elif self._initial_events:
                await self._initial_watch()
            else:
                await self._list()
        except Exception as error:
            # Whatever it is, even a fault of ours in the sink: a follower that dies quietly serves old data for
            # days. It is said, counted and tried again from the start.
            await self._recover(error)

    async def _initial_watch(self) -> None:
        self.counters.lists += 1
        try:
            await self._stream(None)
            if self._version is not None:
                return
            reason = "the watch ended before its initial events"
        except ApiStatusError as error:
            if self._version is not None or error.code in (401, 403, 410, 429, 503, 504):
                raise
            reason = str(error)
        except InitialEventsRefused as error:
            reason = str(error)
        self._initial_events = False
        self._log.info(f"{self._resource.go_type} is listed in pages, initial events are not served: {reason}")

    async def _list(self) -> None:
        self.counters.lists += 1
        version = 0
        try:
            async with aclosing(list_pages(self._client, self._resource, self._decoder)) as pages:
                async for page in pages:
                    if page.first:
                        self._begin_list()
                    for number, obj in enumerate(page.items, 1):
                        self._sink.listed(obj)
                        if number % SLICE == 0:
                            await asyncio.sleep(0)
                    version = page.resource_version
            self._end_list(version)
        finally:
            self._abort_list()

    async def _watch(self, version: int) -> None:
        timing, counters = self._timing, self.counters
        counters.reconnects += 1
        self._sink.reached(version)
        events, started = counters.events, self._clock()
        self._in_step = False
        whole = await self._stream(version)
        if self._in_step:
            self._silent_watches = 0
        elif whole and counters.events == events and self._clock() - started < timing.short_watch:
            raise ApiUnreachable("very short watch: the server ended it with nothing said")
        elif not whole or self._clock() - started >= timing.stale:
            self._silent_watch()

    def _silent_watch(self) -> None:
        """A server that went back in time (a restored etcd) says nothing to a watch from the future, or only that
        it is not there yet."""
        self._silent_watches += 1
        if self._silent_watches >= 2:
            self._log.info(f"{self._resource.go_type}: two watches were silent, listing again")
            self._silent_watches, self._bookmarks_regular, self._version = 0, False, None

    async def _stream(self, version: int | None) -> bool:
        """Applies the events of one watch; False when it was given up because of silence."""
        seconds = self._rng.randint(*self._timing.watch_seconds)
        now = asyncio.get_running_loop().time
        self._bookmark_at = None
        try:
            async with watch(
                self._client, self._resource, self._decoder, resource_version=version, timeout_seconds=seconds
            ) as events:
                if version is None:
                    self._begin_list()
                due = now() + self._patience(seconds)
                async with asyncio.timeout_at(due) as silence:
                    async for event in events:
                        self._apply(event)
                        patience = self._patience(seconds)
                        # Initial events come by the thousand: moving the timer for each took a fifth of their time.
                        if abs(now() + patience - due) > patience * _UNMOVED:
                            due = now() + patience
                            silence.reschedule(due)
        except TimeoutError:
            if self._version is None:
                raise InitialEventsRefused("no initial events, and no word about their end") from None
            self.counters.stale += 1
            self._log.info(f"{self._resource.go_type}: a silent watch is replaced")
            return False
        finally:
            self._abort_list()
        return True

    def _patience(self, seconds: int) -> float:
        """How long the watch may be silent from now on."""
        timing = self._timing
        if self._listing:
            return timing.initial_silence
        return timing.stale if self._bookmarks_regular else seconds + timing.grace

    def _apply(self, event: Event[ObjectT]) -> None:
        counters, meta = self.counters, event.object.metadata
        counters.events += 1
        counters.last_event = self._clock()
        version = version_number(meta.resource_version)
        self._in_step |= self._version is None or version >= self._version
        if isinstance(event, Bookmark):
            self._bookmark(event, version)
        elif self._listing:
            self._initial_event(event)
        elif self._version is not None and version <= self._version:
            counters.ignored += 1
        else:
            if isinstance(event, Deleted):
                self._sink.removed(meta.namespace, meta.name)
            else:
                self._sink.changed(event.object)
            self._version = version
            self._sink.reached(version)
            self._recovered()

    def _initial_event(self, event: Change[ObjectT]) -> None:
        """Initial events are in no order of version, and later ones may come before their end is marked."""
        meta = event.object.metadata
        if isinstance(event, Deleted):
            self._sink.removed(meta.namespace, meta.name)
        else:
            self._sink.listed(event.object)

    def _bookmark(self, bookmark: Bookmark, version: int) -> None:
        if self._listing:
            if not bookmark.ends_initial_events:
                raise InitialEventsRefused("a bookmark that does not end the initial events")
            self._end_list(version)
        self._version = max(version, self._version or 0)
        self._sink.reached(self._version)
        now = self._clock()
        if self._bookmark_at is not None:
            self._bookmarks_regular = now - self._bookmark_at <= self._timing.bookmark_gap
        self._bookmark_at = now
        self._recovered()

    def _begin_list(self) -> None:
        self._listing = True
        self._sink.begin_list()

    def _end_list(self, version: int) -> None:
        self._sink.end_list()
        self._listing = False
        self._version = version
        self.counters.last_sync = self._clock()
        self._synced.set()
        self._recovered()

    def _abort_list(self) -> None:
        if self._listing:
            self._listing = False
            self._sink.abort_list()

    def _recovered(self) -> None:
        if self._logged:
            self._logged = ""
            self._log.info(f"{self._resource.go_type} is followed again")

    async def _recover(self, error: Exception) -> None:
        """Says `error` once a burst, decides whether the known version is still good, and waits."""
        self.counters.errors += 1
        doing = "list" if self._version is None else "watch"
        cause = str(error) if isinstance(error, ClusterError) else f"{type(error).__name__}: {error}"
        expired = isinstance(error, ApiStatusError) and error.expired
        if not resumable(error):
            self._version = None
        pause = self._backoff.next()
        if isinstance(error, ApiStatusError) and error.retry_after:
            pause = max(pause, min(error.retry_after, self._timing.longest_retry_after))
        text = f"Failed to watch: failed to {doing} {self._resource.go_type}: {cause}"
        if expired and doing == "watch":
            self._log.info(f"{self._resource.go_type}: {cause}, listing again")
        elif text != self._logged:
            self._logged = text
            self._log.error(text)
        await self._sleep(pause)


def resumable(error: Exception) -> bool:
    """True when a watch may go on from its last version after `error`."""
    if isinstance(error, ApiStatusError):
        return not error.expired and (error.code in (401, 403, 429) or error.code >= 500)
    return isinstance(error, ApiUnreachable)
