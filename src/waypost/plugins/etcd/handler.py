"""Questions to replies from etcd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from waypost.dispatch.handler import Handler, Outcome, settled
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED
from waypost.plugins.etcd.answer import EXACT, Answerer
from waypost.plugins.etcd.layout import BadEntry
from waypost.plugins.etcd.store import Store
from waypost.toolkit.http_api import ApiError
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, soa
from waypost.wire.reply import Reply, authoritative, failure

_TRANSFERS: Final = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_TTL: Final = 30
_TIMERS: Final = (7200, 1800, 86400, _TTL)
_MNAME: Final = b"\x02ns\x03dns"
_RNAME: Final = b"\x0ahostmaster"


class Etcd:
    """Answers for its zones; `now` gives seconds since 1970, which are the serial number."""

    __slots__ = ("_fall", "_now", "_store", "_zones", "name", "next")

    next: Handler

    def __init__(self, store: Store, zones: ZoneList, fall: ZoneList, now: Callable[[], float]) -> None:
        self.name = "etcd"
        self._store = store
        self._zones = zones
        self._fall = fall
        self._now = now

    def serve(self, request: Request) -> Outcome:
        """Every name in the zones answers a question for the SOA with that of its zone."""
        query = request.query
        zone = self._zones.match(query.name)
        if zone is None:
            return self.next.serve(request)
        if query.qtype in _TRANSFERS:
            return failure(consts.REFUSED)
        if query.qtype == consts.TYPE_SOA:
            return authoritative(query, (self._soa(zone),))
        if request.trace is not None and request.trace.offline:
            request.note(self.name, "would ask etcd: nothing is sent", ANSWERED)
            return failure(consts.SERVFAIL)
        return self._ask(request, zone)

    async def _ask(self, request: Request, zone: bytes) -> Reply:
        query = request.query
        answerer = Answerer(request, self._store, zone)
        try:
            found = await answerer.answer()
            if found is None and not self._fall.covers(query.name):
                request.note(self.name, "etcd has no such key, and nothing falls through", ANSWERED)
                exists = query.name == zone or (query.qtype in EXACT and await self._store.exists(query.name))
                return self._denied(query, zone, consts.NOERROR if exists else consts.NXDOMAIN)
        except (ApiError, BadEntry) as exc:
            if request.trace is not None:
                request.note(self.name, f"etcd cannot be asked: {exc}", ANSWERED)
            return self._denied(query, zone, consts.SERVFAIL).replace(error=str(exc))
        if found is None:
            request.note(self.name, "etcd has no such key, and the name falls through", PASSED)
            return await settled(self.next.serve(request))
        if request.trace is not None:
            request.note(self.name, f"{len(found.answer)} records from etcd", ANSWERED, f"zone {names.to_text(zone)}")
        if not found.answer:
            return self._denied(query, zone, consts.NOERROR)
        reply = authoritative(query, tuple(found.answer), additional=tuple(found.additional), depends=answerer.depends)
        return reply.replace(flags=reply.flags | consts.TC) if answerer.truncated else reply

    def _denied(self, query: Query, zone: bytes, rcode: int) -> Reply:
        return authoritative(query, authority=(self._soa(zone),), rcode=rcode)

    def _soa(self, zone: bytes) -> Record:
        return soa(zone, _TTL, _MNAME + zone, _RNAME + zone, int(self._now()), _TIMERS)
