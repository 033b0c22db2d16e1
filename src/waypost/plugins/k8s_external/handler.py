"""Names outside the cluster to replies: the zone's own names, reverse names, and the rest from `cluster.external`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from waypost.cluster.answer import MISSING, NODATA, Result
from waypost.cluster.external import View, answer, reverse, server_addresses, zone_records, zone_serial
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.reverse import is_reverse, name_server_keys
from waypost.dispatch.handler import Handler, Outcome, settled
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED
from waypost.plugins.k8s_external.config import Config
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import addr, consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, address, ns, soa
from waypost.wire.reply import Reply, authoritative, failure

_REFRESH, _RETRY, _EXPIRE = 7200, 1800, 86400
_NS1 = b"\x03ns1"
_HOSTMASTER = b"\x0ahostmaster"
_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_ADDRESS_SIZES = {consts.TYPE_A: 4, consts.TYPE_AAAA: 16}
_CIRCLE = 1 << 32


@runtime_checkable
class Cluster(Protocol):
    """The kubernetes handler of the same block: its data, what it shows of them, and this server's own addresses."""

    index: Index
    policy: Policy
    local: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone and the names of its own: `apex` and below it the name server and the mailbox of its SOA."""

    name: bytes
    apex: bytes
    name_server: bytes
    mailbox: bytes


class External:
    """The handler. It answers once it was given its cluster."""

    name = "k8s_external"
    next: Handler

    def __init__(self, config: Config) -> None:
        self._config = config
        self._zone_list = ZoneList(frozenset(config.zones))
        self._zones = {name: make_zone(name, config.apex) for name in config.zones}
        self._view: View | None = None
        self._local: tuple[bytes, ...] = ()

    def use(self, cluster: Cluster) -> None:
        """Answer from this cluster."""
        self._view = View(cluster.index, cluster.policy, self._config.ttl, self._config.headless)
        self._local = cluster.local

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        """A forward zone as a whole, once the cluster was read."""
        view, known = self._view, self._zones.get(zone)
        if view is None or known is None or is_reverse(zone) or not view.index.synced:
            return None
        apex = self._soa(view, known)
        if serial is not None and not _is_newer(zone_serial(view), serial):
            return (apex,)
        return zone_records(view, zone, apex, known.name_server, self._local)

    def serve(self, request: Request) -> Outcome:
        """Answer names in our zones."""
        query = request.query
        view, name = self._view, self._zone_list.match(query.name)
        if name is None or view is None:
            return self.next.serve(request)
        zone = self._zones[name]
        if query.qtype in _TRANSFERS:
            request.note(self.name, "refused: no transfer was set up", ANSWERED)
            return failure(consts.REFUSED)
        if query.name == name:
            request.note(self.name, f"the name is the zone {names.to_text(name)} itself", ANSWERED)
            return self._at_zone(query, view, zone)
        if names.is_within(query.name, zone.apex):
            request.note(self.name, f"a name of the zone {names.to_text(name)} itself", ANSWERED)
            return self._at_apex(query, view, zone)
        packed = addr.from_reverse_name(query.name) if query.qtype == consts.TYPE_PTR else None
        if packed is not None:
            result = reverse(view, self._config.zones[0], query.qname, packed)
        else:
            result = answer(view, name, query.qname, query.qtype)
        return self._outcome(request, view, zone, result)

    def _at_zone(self, query: Query, view: View, zone: Zone) -> Reply:
        if query.qtype == consts.TYPE_SOA:
            return authoritative(query, (self._soa(view, zone)._replace(owner=query.qname),))
        if query.qtype == consts.TYPE_NS:
            glue = tuple(address(zone.name_server, view.ttl, packed) for packed in server_addresses(view, self._local))
            depends = name_server_keys(view.index, self._local)
            return authoritative(
                query, (ns(query.qname, view.ttl, zone.name_server),), additional=glue, depends=depends
            )
        return self._reply(query, view, zone)

    def _at_apex(self, query: Query, view: View, zone: Zone) -> Reply:
        """The label that keeps names of the zone's own apart from namespaces, and its name server."""
        if query.name not in (zone.apex, zone.name_server):
            return self._reply(query, view, zone, MISSING)
        size = _ADDRESS_SIZES.get(query.qtype) if query.name == zone.name_server else None
        found = server_addresses(view, self._local)
        records = tuple(address(query.qname, view.ttl, packed) for packed in found if len(packed) == size)
        return self._reply(query, view, zone, Result(True, records, depends=name_server_keys(view.index, self._local)))

    def _outcome(self, request: Request, view: View, zone: Zone, result: Result) -> Outcome:
        query = request.query
        if not result.exists and self._config.fallthrough.covers(query.name):
            request.note(self.name, "no Service of this name is reached from outside: the name falls through", PASSED)
            return self.next.serve(request)
        if request.trace is not None:
            found = "a Service" if result.exists else "no Service"
            text = f"{found} of this name is reached from outside (external addresses, a load balancer)"
            request.note(self.name, text, ANSWERED, version=f"serial {zone_serial(view)}")
        base = self._reply(query, view, zone, result)
        targets = [host for host in result.chase if host != query.name]
        return self._chase(request, base, targets) if targets else base

    def _reply(self, query: Query, view: View, zone: Zone, result: Result = NODATA) -> Reply:
        """The records found, or a denial; before the cluster was read nobody can know that a name does not exist."""
        if result.answer:
            return authoritative(query, result.answer, additional=result.additional, depends=result.depends)
        rcode = consts.NOERROR
        if not result.exists:
            rcode = consts.NXDOMAIN if view.index.synced else consts.SERVFAIL
        return authoritative(query, authority=(self._soa(view, zone),), rcode=rcode, depends=result.depends)

    def _soa(self, view: View, zone: Zone) -> Record:
        timers = (_REFRESH, _RETRY, _EXPIRE, view.ttl)
        return soa(zone.name, view.ttl, zone.name_server, zone.mailbox, zone_serial(view), timers)

    @staticmethod
    async def _chase(request: Request, base: Reply, targets: Iterable[bytes]) -> Reply:
        """Add the addresses of host names: of the asked type behind the answer, for SRV all in the additional section.

        A look-up that fails adds nothing.
        """
        qtype = request.query.qtype
        for target in targets:
            for wanted in _ADDRESS_SIZES if qtype == consts.TYPE_SRV else (qtype,):
                found = await settled(request.lookup(target, wanted))
                base = _extended(base, found, in_answer=qtype != consts.TYPE_SRV)
        return base


def make_zone(name: bytes, label: bytes) -> Zone:
    """The names of a zone whose `apex` option is `label`."""
    apex = names.join(label, name)
    return Zone(name, apex, names.join(_NS1, apex), names.join(_HOSTMASTER, apex))


def _extended(base: Reply, found: Reply, *, in_answer: bool) -> Reply:
    base = base.replace(flags=base.flags | found.flags & consts.TC, depends=base.depends + found.depends)
    if in_answer:
        return base.replace(answer=base.answer + found.answer)
    return base.replace(additional=base.additional + found.answer)


def _is_newer(one: int, other: int) -> bool:
    """Serial number arithmetic (RFC 1982)."""
    return 0 < (one - other) % _CIRCLE < _CIRCLE // 2
