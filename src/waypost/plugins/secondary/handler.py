"""Questions to answers from transferred zones, and NOTIFY from their primaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from waypost.dispatch.handler import EndOfChain, Handler, Outcome
from waypost.dispatch.request import Request
from waypost.log import Log
from waypost.plugins.secondary.zone import SecondaryZone
from waypost.toolkit.zonelist import ZoneList
from waypost.toolkit.zoneserve import serve_zone
from waypost.wire import addr, consts, names
from waypost.wire.record import Record
from waypost.wire.reply import Reply, failure


class Served(NamedTuple):
    """A zone of the handler, the packed addresses of its primaries, and which of its names fall through."""

    zone: SecondaryZone
    primaries: frozenset[bytes]
    fall: ZoneList


class Secondary:
    """The handler: the longest of its zones answers."""

    __slots__ = ("_list", "_log", "_zones", "name", "next")

    next: Handler

    def __init__(self, zones: Mapping[bytes, Served], log: Log) -> None:
        self.name = "secondary"
        self._zones = zones
        self._list = ZoneList(frozenset(zones))
        self._log = log

    def zones(self) -> tuple[bytes, ...]:
        """The names of its zones."""
        return tuple(self._zones)

    def serve(self, request: Request) -> Outcome:
        """Names outside of every zone go to the next plugin, and are refused if there is none."""
        query = request.query
        origin = self._list.match(query.name)
        if origin is None:
            return failure(consts.REFUSED) if isinstance(self.next, EndOfChain) else self.next.serve(request)
        served = self._zones[origin]
        if query.opcode == consts.OPCODE_NOTIFY:
            return self._notified(request, served)
        return serve_zone(self.name, request, served.zone.current(), served.fall, self.next)

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        """See `dispatch.handler.Transferer`."""
        served = self._zones.get(zone)
        current = served.zone.current() if served is not None else None
        return current.transfer(serial) if current is not None else None

    def _notified(self, request: Request, served: Served) -> Reply:
        """A primary is thanked and asked for its serial; nobody else may make us do that (RFC 1996 section 3.10)."""
        query = request.query
        known = addr.pack(request.client_ip) in served.primaries
        if not known or query.name != served.zone.origin or query.qtype != consts.TYPE_SOA:
            text = f"Dropping notify from {request.client_ip} for {names.to_text(query.name)}"
            self._log.once_a_burst(self._log.info, text)
            return failure(consts.REFUSED)
        served.zone.check_soon()
        return Reply(consts.NOERROR, consts.AA)
