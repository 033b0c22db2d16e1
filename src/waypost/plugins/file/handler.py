"""Questions to answers from zone files; all `file` lines of a block are one handler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from waypost.dispatch.handler import EndOfChain, Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.toolkit.background import Background
from waypost.toolkit.zonelist import ZoneList
from waypost.toolkit.zonenotify import notify_secondaries
from waypost.toolkit.zoneserve import serve_zone
from waypost.toolkit.zonesource import ZoneSource
from waypost.wire import consts
from waypost.wire.record import Record
from waypost.wire.reply import failure


class Served(NamedTuple):
    """A zone of the handler: where it comes from, which names fall through, seconds between two looks (0: none)."""

    source: ZoneSource
    fall: ZoneList
    reload: float


class File:
    """The handler: the longest of its zones answers."""

    __slots__ = ("_list", "_zones", "name", "next")

    next: Handler

    def __init__(self, zones: Mapping[bytes, Served]) -> None:
        self.name = "file"
        self._zones = zones
        self._list = ZoneList(frozenset(zones))

    def zones(self) -> tuple[bytes, ...]:
        """The names of its zones."""
        return tuple(self._zones)

    def serve(self, request: Request) -> Outcome:
        """Names outside of every zone go to the next plugin, and are refused if there is none."""
        origin = self._list.match(request.query.name)
        if origin is None or request.query.opcode != consts.OPCODE_QUERY:
            return failure(consts.REFUSED) if isinstance(self.next, EndOfChain) else self.next.serve(request)
        served = self._zones[origin]
        return serve_zone(self.name, request, served.source.zone, served.fall, self.next)

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        """See `dispatch.handler.Transferer`."""
        served = self._zones.get(zone)
        if served is None or served.source.zone is None:
            return None
        return served.source.zone.transfer(serial)


class Follower:
    """The tasks that look after a handler's zones: NOTIFY once live and after every change, files read again."""

    __slots__ = ("_site", "_works", "_zones")

    def __init__(self, zones: Mapping[bytes, Served], site: Site) -> None:
        self._zones = zones
        self._site = site
        self._works: list[Background] = []

    def start(self) -> None:
        """Start them; needs the running event loop."""
        for origin, served in self._zones.items():
            work = Background()
            work.start(partial(self._follow, origin, served))
            self._works.append(work)

    async def stop(self) -> None:
        """End them."""
        await asyncio.gather(*(work.stop() for work in self._works))
        self._works.clear()

    async def _follow(self, origin: bytes, served: Served) -> None:
        notify_secondaries(self._site, origin)
        while served.reload > 0:
            await asyncio.sleep(served.reload)
            if await served.source.refresh():
                notify_secondaries(self._site, origin)
