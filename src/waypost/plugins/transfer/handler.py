"""AXFR and IXFR over streams (RFC 5936, RFC 1995): who may ask, which plugin has the zone, and its records in messages.

An IXFR is answered by the SOA alone if the client is up to date, else by the whole zone; differences are not kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from waypost.corefile.quoting import quote
from waypost.dispatch.handler import Handler, Outcome, Transferer
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.log import Log
from waypost.plugins.transfer.config import Config
from waypost.plugins.transfer.notify import Notifier
from waypost.wire import addr, consts, names
from waypost.wire.edns import opt_size
from waypost.wire.errors import FormErr
from waypost.wire.message import decode
from waypost.wire.query import Query
from waypost.wire.rdata import name_end
from waypost.wire.record import Record, Records, size
from waypost.wire.reply import Reply, authoritative, copied_flags, failure

_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)
# Below the 65,535 bytes of a message, with room for what a signature adds.
_MAX_MESSAGE = 63_000


class Transfer:
    """The handler."""

    name = "transfer"
    next: Handler

    def __init__(self, config: Config, site: Site, notifier: Notifier, log: Log) -> None:
        self._config = config
        self._site = site
        self._notifier = notifier
        self._log = log
        self._sources: list[Transferer] | None = None

    def notify(self, zone: bytes) -> None:
        """Tell this zone's secondaries, in the background, that it changed; wire form, lower case."""
        rule = self._config.rule_for(zone)
        if rule is not None and rule.targets:
            self._notifier.start(zone, rule.targets, rule.source)

    def serve(self, request: Request) -> Outcome:
        """Send a zone; everything else goes to the next plugin."""
        query = request.query
        if query.qtype not in _TRANSFERS or query.flags & consts.OPCODE_MASK:
            return self.next.serve(request)
        if request.datagram:
            request.note(self.name, "refused: zone transfers need TCP", ANSWERED)
            return failure(consts.REFUSED)
        rule = self._config.rule_for(query.name)
        if rule is None:
            return self.next.serve(request)
        if not rule.admits(addr.pack(request.client_ip)):
            request.note(self.name, "refused: the client is none of those that may have the zone", ANSWERED)
            return Reply(consts.REFUSED, copied_flags(query))
        serial = None
        if query.qtype == consts.TYPE_IXFR:
            serial = client_serial(query)
            if serial is None:
                return failure(consts.SERVFAIL, "no SOA in the authority section of an IXFR query")
        for source in self._transferers():
            records = source.transfer(query.name, serial)
            if records is not None:
                request.note(self.name, "the zone is sent", ANSWERED)
                return self._send(request, records)
        return self.next.serve(request)

    def _transferers(self) -> list[Transferer]:
        if self._sources is None:  # not known before every plugin of the block is set up
            self._sources = [handler for handler in self._site.all_handlers() if isinstance(handler, Transferer)]
        return self._sources

    async def _send(self, request: Request, records: Iterable[Record]) -> Reply:
        query = request.query
        batches = await _batches(records, _room(query))
        if not batches:
            return failure(consts.SERVFAIL, "zone without records")
        zone, client = quote(names.to_text(query.qname)), request.client_ip
        first = batches[0][0]
        serial = soa_serial(first.rdata) if first.rtype == consts.TYPE_SOA else None
        if query.qtype == consts.TYPE_IXFR and len(batches) == 1 and len(batches[0]) == 1:
            text = f"Outgoing noop, incremental transfer for up to date zone {zone} to {client} for {serial} SOA serial"
            self._log.info(text)
            return Reply(consts.NOERROR, copied_flags(query), batches[0])
        count = sum(map(len, batches))
        self._log.info(f"Outgoing transfer of {count} records of zone {zone} to {client} for {serial} SOA serial")
        messages = [authoritative(query, batch) for batch in batches]
        return messages[0].replace(more=tuple(messages[1:]))


def client_serial(query: Query) -> int | None:
    """The serial in the SOA record of an IXFR query's authority section (RFC 1995 section 3); None without one."""
    try:
        authority = decode(query.wire).authority
    except FormErr:
        return None
    if len(authority) != 1 or authority[0].rtype != consts.TYPE_SOA:
        return None
    return soa_serial(authority[0].rdata)


def soa_serial(rdata: bytes) -> int | None:
    """The serial of SOA rdata with uncompressed names (RFC 1035 section 3.3.13); None if it is cut short."""
    start = name_end(rdata, name_end(rdata, 0))
    return int.from_bytes(rdata[start : start + 4], "big") if len(rdata) >= start + 4 else None


def _room(query: Query) -> int:
    """Bytes for records in one message to this client."""
    return _MAX_MESSAGE - query.end - (opt_size(query.opt.options) if query.opt is not None else 0)


async def _batches(records: Iterable[Record], room: int) -> list[Records]:
    """Records as they fit into messages of `room` bytes; other queries have their turn after each message."""
    batches: list[Records] = []
    batch: list[Record] = []
    left = room
    for record in records:
        left -= size(record)
        if left < 0 and batch:
            batches.append(tuple(batch))
            batch = []
            left = room - size(record)
            await asyncio.sleep(0)
        batch.append(record)
    return [*batches, tuple(batch)] if batch else batches
