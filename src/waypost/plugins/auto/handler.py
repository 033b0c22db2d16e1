"""Questions to answers from the zones of a directory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from waypost.dispatch.handler import EndOfChain, Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.plugins.auto.directory import ZoneDirectory
from waypost.toolkit.background import Background
from waypost.toolkit.zonelist import ZoneList
from waypost.toolkit.zonenotify import notify_secondaries
from waypost.toolkit.zoneserve import serve_zone
from waypost.wire import consts
from waypost.wire.record import Record
from waypost.wire.reply import failure


class Auto:
    """The handler: within its zones the longest one of the directory answers."""

    __slots__ = ("_allowed", "_directory", "name", "next")

    next: Handler

    def __init__(self, directory: ZoneDirectory, allowed: ZoneList) -> None:
        self.name = "auto"
        self._directory = directory
        self._allowed = allowed

    def zones(self) -> tuple[bytes, ...]:
        """The zones that are there at the moment."""
        return tuple(self._directory.zones)

    def serve(self, request: Request) -> Outcome:
        """Names of no zone go to the next plugin; if there is none, those of our own zones are refused."""
        query = request.query
        if query.opcode != consts.OPCODE_QUERY or not self._allowed.covers(query.name):
            return self.next.serve(request)
        origin = self._directory.listed.match(query.name)
        if origin is None:
            return failure(consts.REFUSED) if isinstance(self.next, EndOfChain) else self.next.serve(request)
        return serve_zone(self.name, request, self._directory.zones[origin].zone, ZoneList(), self.next)

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        """See `dispatch.handler.Transferer`."""
        source = self._directory.zones.get(zone)
        if source is None or source.zone is None:
            return None
        return source.zone.transfer(serial)


class Follower:
    """The task that looks after the directory: NOTIFY once live and after every change, files looked at again."""

    __slots__ = ("_directory", "_interval", "_site", "_work")

    def __init__(self, directory: ZoneDirectory, interval: float, site: Site) -> None:
        self._directory = directory
        self._interval = interval
        self._site = site
        self._work = Background()

    def start(self) -> None:
        """Start it; needs the running event loop."""
        self._work.start(self._follow)

    async def stop(self) -> None:
        """End it."""
        await self._work.stop()

    async def _follow(self) -> None:
        self._notify(self._directory.zones)
        while self._interval > 0:
            await asyncio.sleep(self._interval)
            self._notify(await self._directory.refresh())

    def _notify(self, zones: Iterable[bytes]) -> None:
        for zone in tuple(zones):
            notify_secondaries(self._site, zone)
