"""Questions to answers from a hosts table."""

from __future__ import annotations

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED
from waypost.plugins.hosts.source import HostsFile
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import addr, consts
from waypost.wire.record import address, ptr
from waypost.wire.reply import authoritative, failure


class Hosts:
    """A, AAAA and PTR; a known name has no data of another type. Names in answers are in lower case."""

    __slots__ = ("_fall", "_fall_unsupported", "_source", "_ttl", "_zones", "name", "next")

    next: Handler

    def __init__(
        self, source: HostsFile, zones: ZoneList, ttl: int, fall: ZoneList, fall_unsupported: ZoneList
    ) -> None:
        self.name = "hosts"
        self._source = source
        self._zones = zones
        self._ttl = ttl
        self._fall = fall
        self._fall_unsupported = fall_unsupported

    def serve(self, request: Request) -> Outcome:
        """Unknown names in the zones are SERVFAIL, for there is no SOA to deny them with, unless they fall through."""
        query = request.query
        name, qtype = query.name, query.qtype
        if qtype == consts.TYPE_PTR:
            return self._reverse(request)
        if self._zones.match(name) is None:
            return self.next.serve(request)
        if qtype not in (consts.TYPE_A, consts.TYPE_AAAA) and self._fall_unsupported.covers(name):
            return self.next.serve(request)
        found = self._source.table.addresses(name)
        if found is None:
            if self._fall.covers(name):
                request.note(self.name, "the table does not have the name, which falls through", PASSED)
                return self.next.serve(request)
            request.note(self.name, "the table does not have the name, and nothing falls through", ANSWERED)
            return failure(consts.SERVFAIL)
        packed = found.v4 if qtype == consts.TYPE_A else found.v6 if qtype == consts.TYPE_AAAA else ()
        if request.trace is not None:
            text = f"the table has the name with {len(packed)} {consts.type_text(qtype)} records"
            request.note(self.name, text, ANSWERED, self._source.path)
        return authoritative(query, tuple(address(name, self._ttl, one) for one in packed))

    def _reverse(self, request: Request) -> Outcome:
        """PTR for every address that has a name; whether the reverse zone is among the zones does not matter."""
        name = request.query.name
        packed = addr.from_reverse_name(name)
        known = self._source.table.names(packed) if packed is not None else ()
        if not known:
            return self.next.serve(request)
        if request.trace is not None:
            request.note(self.name, f"{len(known)} names for this address", ANSWERED, self._source.path)
        return authoritative(request.query, tuple(ptr(name, self._ttl, one) for one in known))
