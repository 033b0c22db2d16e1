"""Cluster names to replies: zone, then `cluster.answer`, then what only a server can do (fall through, chase, SOA)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from waypost.cluster.answer import Result, answer
from waypost.cluster.entries import CLUSTER_IP, key_namespace
from waypost.cluster.index import Index
from waypost.cluster.reverse import name_servers, names_of_address
from waypost.dispatch.handler import Handler, Outcome, settled, then
from waypost.dispatch.request import Request
from waypost.plugins.kubernetes.config import Config
from waypost.wire import addr, consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, Records, address, ns, ptr, soa
from waypost.wire.reply import Reply, authoritative, failure

_SOA_TTL_LIMIT = 300
_REFRESH, _RETRY, _EXPIRE = 7200, 1800, 86400
_NS_DNS = b"\x02ns\x03dns"
_HOSTMASTER = b"\x0ahostmaster"
_ADDRESS_SIZES = {consts.TYPE_A: 4, consts.TYPE_AAAA: 16}
_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)


class Zone:
    """One zone the plugin serves: its name, and what stands at the end of the name of a Service in it."""

    __slots__ = ("name", "services")

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.services = b"\x03svc" + name


class Kubernetes:
    """The handler. It only reads the index; that it is filled is the source's part."""

    name = "kubernetes"
    next: Handler

    def __init__(self, config: Config, index: Index, local: Sequence[bytes]) -> None:
        self.config = config
        self.index = index
        self._policy = config.policy
        self._local = tuple(local)
        self._zones = tuple(Zone(name) for name in sorted(config.zones, key=len, reverse=True))
        self._plain = not config.policy.ignore_empty_service

    def ready(self) -> bool:
        """True once the cluster was read."""
        return self.index.synced

    def subscribe(self, callback: Callable[[Sequence[bytes] | None], None]) -> Callable[[], None]:
        """Be told which keys of `Reply.depends` changed; None for all."""
        return self.index.subscribe(callback)

    def serve(self, request: Request) -> Outcome:
        """Answer names in our zones."""
        query = request.query
        zone = self._zone_of(query.name)
        if zone is None:
            return self.next.serve(request)
        qtype = query.qtype
        if qtype in _ADDRESS_SIZES:
            reply = self._service_address(query, zone)
            if reply is not None:
                return reply
            if query.name == _NS_DNS + zone.name:
                return self._server_addresses(query, zone)
        elif qtype == consts.TYPE_SOA:
            apex = query.name == zone.name
            return self._reply(query, zone, (self._soa(query, zone),) if apex else ())
        elif qtype == consts.TYPE_NS and query.name == zone.name:
            return self._name_servers(query, zone)
        elif qtype == consts.TYPE_PTR and (packed := addr.from_reverse_name(query.name)) is not None:
            return self._reverse(request, zone, packed)
        elif qtype in _TRANSFERS:
            return failure(consts.REFUSED)
        elif query.name == _NS_DNS + zone.name and qtype not in (consts.TYPE_TXT, consts.TYPE_PTR):
            return self._reply(query, zone)
        return self._look_up(request, zone)

    def _zone_of(self, name: bytes) -> Zone | None:
        for zone in self._zones:
            if name.endswith(zone.name) and names.is_within(name, zone.name):
                return zone
        return None

    def _service_address(self, query: Query, zone: Zone) -> Reply | None:
        """The most common question, `SERVICE.NAMESPACE.svc.ZONE A`, in one look-up; None: not that simple."""
        name = query.name
        if not self._plain or not name.endswith(zone.services):
            return None
        key = name[: -len(zone.services)]
        entry = self.index.services.get(key)
        if entry is None or entry.kind != CLUSTER_IP:
            return None
        namespace = key_namespace(key)
        exposed = self._policy.namespaces
        if namespace not in self.index.namespaces or (exposed is not None and namespace not in exposed):
            return None
        size = _ADDRESS_SIZES[query.qtype]
        ttl = self._policy.ttl
        records = tuple(address(query.qname, ttl, packed) for packed in entry.addresses if len(packed) == size)
        return self._reply(query, zone, records, depends=(key,))

    def _look_up(self, request: Request, zone: Zone) -> Outcome:
        query = request.query
        result = answer(self.index, self._policy, zone.name, query.qname, query.qtype)
        if not result.exists:
            return self._missing(request, zone, result.depends)
        if result.chase:
            return self._chase(request, zone, result)
        return self._reply(query, zone, result.answer, result.additional, result.depends)

    def _missing(self, request: Request, zone: Zone, depends: tuple[bytes, ...]) -> Outcome:
        """NXDOMAIN; until the cluster was read nobody can know that, and the answer is SERVFAIL."""
        query = request.query
        if self.config.fallthrough.covers(query.name):
            return self.next.serve(request)
        rcode = consts.NXDOMAIN if self.index.synced else consts.SERVFAIL
        return authoritative(query, authority=(self._soa(query, zone),), rcode=rcode, depends=depends)

    def _reply(
        self, query: Query, zone: Zone, records: Records = (), glue: Records = (), depends: tuple[bytes, ...] = ()
    ) -> Reply:
        """An answer, or NODATA without records."""
        if records:
            return authoritative(query, records, additional=glue, depends=depends)
        return authoritative(query, authority=(self._soa(query, zone),), depends=depends)

    def _soa(self, query: Query, zone: Zone) -> Record:
        """The zone's SOA in the question's spelling."""
        ttl = self._policy.ttl
        spelled = query.qname[len(query.qname) - len(zone.name) :]
        timers = (_REFRESH, _RETRY, _EXPIRE, ttl)
        return soa(
            spelled, min(ttl, _SOA_TTL_LIMIT), _NS_DNS + spelled, _HOSTMASTER + spelled, self.index.serial, timers
        )

    def _reverse(self, request: Request, zone: Zone, packed: bytes) -> Outcome:
        query = request.query
        ttl = self._policy.ttl
        found = names_of_address(self.index, self._policy, packed)
        targets = [prefix + self.config.primary for prefix in found if len(prefix) + len(self.config.primary) <= 255]
        if not targets:
            return self._missing(request, zone, (packed,))
        records = tuple(ptr(query.qname, ttl, target) for target in targets)
        return self._reply(query, zone, records, depends=(packed,))

    def _name_servers(self, query: Query, zone: Zone) -> Reply:
        spelled = query.qname
        servers = name_servers(self.index, self._local)
        records = tuple(ns(spelled, self._policy.ttl, server.prefix + spelled) for server in servers)
        glue = tuple(
            address(server.prefix + spelled, self._policy.ttl, packed)
            for server in servers
            for packed in server.addresses
        )
        return self._reply(query, zone, records, glue)

    def _server_addresses(self, query: Query, zone: Zone) -> Reply:
        size = _ADDRESS_SIZES[query.qtype]
        unique = dict.fromkeys(
            packed for server in name_servers(self.index, self._local) for packed in server.addresses
        )
        records = tuple(address(query.qname, self._policy.ttl, packed) for packed in unique if len(packed) == size)
        return self._reply(query, zone, records)

    def _chase(self, request: Request, zone: Zone, result: Result) -> Outcome:
        """Append what the names outside the zone lead to; a failed look-up leaves the CNAME alone."""
        query = request.query
        base = self._reply(query, zone, result.answer, result.additional, result.depends)
        if len(result.chase) == 1:
            return then(request.lookup(result.chase[0], query.qtype), lambda found: _extended(base, found))
        return self._chase_all(request, base, result.chase)

    @staticmethod
    async def _chase_all(request: Request, base: Reply, targets: Iterable[bytes]) -> Reply:
        for target in targets:
            found = await settled(request.lookup(target, request.query.qtype))
            base = _extended(base, found)
        return base


def _extended(base: Reply, found: Reply) -> Reply:
    flags = base.flags | found.flags & consts.TC
    return base.replace(answer=base.answer + found.answer, flags=flags, depends=base.depends + found.depends)
