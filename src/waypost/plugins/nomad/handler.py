"""Questions for SERVICE.NAMESPACE.ZONE to replies."""

from __future__ import annotations

import re
from typing import Final

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED
from waypost.plugins.nomad.catalogue import Catalogue, Instance
from waypost.plugins.nomad.metrics import Metrics
from waypost.toolkit.http_api import ApiError
from waypost.wire import consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, Records, address, soa, srv
from waypost.wire.reply import Reply, authoritative, failure

_TIMERS: Final = (3600, 600, 86400, 30)
_MNAME: Final = b"\x03ns1"
_RNAME: Final = b"\x0ahostmaster"
_PRIORITY: Final = 10
_WEIGHT: Final = 10
_TRANSFERS: Final = (consts.TYPE_AXFR, consts.TYPE_IXFR)
# Anything else is no name in Nomad, and must not reach the path of a request.
_PLAIN: Final = re.compile(rb"[a-z0-9_-]+")


class Nomad:
    """The handler of one zone (wire form, lower case). Names of another depth are for the next plugin."""

    __slots__ = ("_catalogue", "_metrics", "_ttl", "_zone", "name", "next")

    next: Handler

    def __init__(self, zone: bytes, ttl: int, catalogue: Catalogue, metrics: Metrics) -> None:
        self.name = "nomad"
        self._zone = zone
        self._ttl = ttl
        self._catalogue = catalogue
        self._metrics = metrics

    def ready(self) -> bool:
        """True while Nomad answers."""
        return self._catalogue.connected

    def serve(self, request: Request) -> Outcome:
        """A, AAAA and SRV; a service has no data of another type."""
        query = request.query
        if not query.within(self._zone):
            return self.next.serve(request)
        labels = names.labels(names.relative(query.name, self._zone) + names.ROOT)
        if len(labels) != 2:
            return self.next.serve(request)
        if query.qtype in _TRANSFERS:
            return failure(consts.REFUSED)
        if not all(map(_PLAIN.fullmatch, labels)):
            return self._denied(query, consts.NXDOMAIN)
        if request.trace is not None and request.trace.offline:
            request.note(self.name, "would ask Nomad: nothing is sent", ANSWERED)
            return failure(consts.SERVFAIL)
        service, namespace = (label.decode() for label in labels)
        return self._ask(request, service, namespace)

    async def _ask(self, request: Request, service: str, namespace: str) -> Reply:
        query, server = request.query, request.server.label
        where = f"service {namespace}/{service}"
        try:
            instances = await self._catalogue.instances(service, namespace)
        except ApiError as exc:
            self._metrics.failed(server, namespace)
            if request.trace is not None:
                request.note(self.name, f"Nomad cannot be asked: {exc}", ANSWERED, where)
            return failure(consts.SERVFAIL, str(exc))
        if instances is None:
            self._metrics.failed(server, namespace)
            request.note(self.name, "Nomad has no such service", ANSWERED, where)
            return self._denied(query, consts.NXDOMAIN)
        self._metrics.succeeded(server, namespace)
        if request.trace is not None:
            request.note(self.name, f"{len(instances)} instances", ANSWERED, where)
        answer, additional = _records(query, instances, self._ttl)
        if not answer:
            return self._denied(query, consts.NOERROR)
        return authoritative(query, answer, additional=additional)

    def _denied(self, query: Query, rcode: int) -> Reply:
        zone = self._zone
        record = soa(zone, self._ttl, _MNAME + zone, _RNAME + zone, 0, _TIMERS)
        return authoritative(query, authority=(record,), rcode=rcode)


def _records(query: Query, instances: list[Instance], ttl: int) -> tuple[Records, Records]:
    """Answer and additional section. The target of an SRV record is the asked name, which has every address."""
    addresses = tuple(dict.fromkeys(address(query.qname, ttl, packed) for packed, _ in instances))
    if query.qtype != consts.TYPE_SRV:
        return tuple(record for record in addresses if record.rtype == query.qtype), ()
    services: dict[Record, None] = dict.fromkeys(
        srv(query.qname, ttl, _PRIORITY, _WEIGHT, port, query.qname) for _, port in instances
    )
    return tuple(services), addresses
