"""Cluster names to replies: zone, then `cluster.answer`, then what only a server can do (fall through, chase, SOA)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from waypost.cluster.answer import Result, answer
from waypost.cluster.clients import client_namespace
from waypost.cluster.entries import CLUSTER_IP
from waypost.cluster.index import Index
from waypost.cluster.policy import PODS_VERIFIED, Policy
from waypost.cluster.reverse import is_reverse, name_server_keys, name_servers, names_of_address
from waypost.cluster.transfer import zone_records
from waypost.dispatch.handler import Handler, Outcome, settled, then
from waypost.dispatch.request import Request
from waypost.plugins.kubernetes.config import Config
from waypost.plugins.kubernetes.explain import Known, note_answer, note_zone_missing
from waypost.plugins.kubernetes.metadata import client_facts, question_facts
from waypost.plugins.kubernetes.siblings import Served, Unserved, record_head
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import addr, consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, Records, address, ns, ptr, soa
from waypost.wire.reply import Reply, authoritative, failure

_SOA_TTL_LIMIT = 300
_REFRESH, _RETRY, _EXPIRE = 7200, 1800, 86400
_NS_DNS = b"\x02ns\x03dns"
_HOSTMASTER = b"\x0ahostmaster"
# `ns.dns.ZONE` exists with other types, but these are looked up as if it did not.
_NOT_AT_NS_DNS = (consts.TYPE_TXT, consts.TYPE_PTR)
# Types that say something else than NXDOMAIN at a name that does not exist.
_NEVER_MISSING = (consts.TYPE_SOA, consts.TYPE_AXFR, consts.TYPE_IXFR)
_ADDRESS_SIZES = {consts.TYPE_A: 4, consts.TYPE_AAAA: 16}


class Zone:
    """One zone the plugin serves: its name, what stands at the end of a Service's name in it, and its SOA.

    `falls` says whether missing names go to the next plugin: True or False for the whole zone, None: it depends.
    """

    __slots__ = ("falls", "index", "name", "ns_dns", "policy", "services", "soa")

    def __init__(self, name: bytes, fallthrough: ZoneList, index: Index, policy: Policy) -> None:
        self.name = name
        self.index = index
        self.policy = policy
        self.services = b"\x03svc" + name
        self.ns_dns = _NS_DNS + name
        self.soa: tuple[int, Record] | None = None
        self.falls: bool | None = None
        if fallthrough.covers(name):
            self.falls = True
        elif not any(names.is_within(other, name) for other in fallthrough.zones):
            self.falls = False


class Kubernetes:
    """The handler. It only reads the index; that it is filled is the source's part.

    `local` are this server's own packed addresses, `search` the search list of its machine in wire form.
    """

    name = "kubernetes"
    vouches = True
    confined = True
    next: Handler

    def __init__(
        self,
        config: Config,
        index: Index,
        local: Sequence[bytes],
        search: Sequence[bytes] = (),
        imports: Index | None = None,
        silence: Callable[[], float] | None = None,
        versions: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """`silence` tells for how many seconds an API server that is followed gave no sign of life.

        `versions` gives the resourceVersions up to which the kinds are followed.
        """
        self.config = config
        self.index = index
        self.policy = config.policy
        self.local = tuple(local)
        self._search = tuple(search)
        self._silence = silence
        self._versions = versions
        self._silence_limit = math.inf
        self._imports = imports if config.imported else None
        self._zones = tuple(self._zone(name) for name in sorted(config.zones, key=len, reverse=True))
        self._primary = next(zone for zone in self._zones if zone.name == config.primary)
        self._simple = (
            not config.policy.ignore_empty_service
            and self._primary.index is index
            and not any(
                zone is not self._primary and names.is_within(zone.name, config.primary) for zone in self._zones
            )
        )

    def _zone(self, name: bytes) -> Zone:
        policy = self.config.policy
        if self._imports is not None and name in self.config.imported:
            return Zone(name, self.config.fallthrough, self._imports, replace(policy, imported=True, zonal=False))
        return Zone(name, self.config.fallthrough, self.index, policy)

    @property
    def zones(self) -> tuple[bytes, ...]:
        """The zones served, in wire form and lower case."""
        return self.config.zones

    @property
    def cuts(self) -> frozenset[bytes]:
        """Zones that make a difference here."""
        return frozenset(self.config.zones) | self.config.fallthrough.zones

    @property
    def version(self) -> int:
        """Changes with the SOA serials."""
        imports = self._imports
        return self.index.serial + (imports.serial << 32 if imports is not None else 0)

    def ready(self) -> bool:
        """True once the cluster was read."""
        return self.index.known and (self._imports is None or self._imports.known)

    def limit_silence(self, seconds: float) -> bool:
        """Not be `fresh` after a longer silence of the API server; False if none is followed."""
        self._silence_limit = min(self._silence_limit, seconds)
        return self._silence is not None

    def fresh(self) -> bool:
        """False if the API server was silent for too long: the cluster may have changed without a word."""
        return self._silence is None or self._silence() <= self._silence_limit

    def subscribe(self, callback: Callable[[Sequence[bytes] | None], None]) -> Callable[[], None]:
        """Be told which keys of `Reply.depends` changed; None for all."""
        ends = [index.subscribe(callback) for index in (self.index, self._imports) if index is not None]

        def end_all() -> None:
            for end in ends:
                end()

        return end_all

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        """A forward zone as a whole; a cluster that was not read yet must not empty anybody's copy."""
        known = next((known for known in self._zones if known.name == zone), None)
        if known is None or is_reverse(zone) or not known.index.synced:
            return None
        serial_now = known.index.serial
        apex = self._make_soa(zone, serial_now)
        return (apex,) if serial == serial_now else zone_records(known.index, known.policy, zone, apex, self.local)

    def autopath(self, request: Request) -> list[bytes]:
        """The search path of the pod that asks, for names in our zones."""
        zone = self._zone_of(request.query)
        packed = addr.pack(request.client_ip)
        if zone is None or packed is None or self.policy.pods != PODS_VERIFIED:
            return []
        namespace = client_namespace(self.index, packed)
        if not namespace:
            return []
        own = bytes((len(namespace),)) + namespace + zone.services
        return [own, zone.services, zone.name, *self._search, names.ROOT]

    def metadata(self, request: Request) -> Iterable[tuple[str, Callable[[], str]]]:
        """What is known of the client (`pods verified`), and for names in our zones of the question."""
        packed = addr.pack(request.client_ip)
        facts = list(client_facts(self.index, packed)) if packed is not None else []
        zone = self._zone_of(request.query)
        if zone is not None:
            facts += question_facts(request.name, zone.name, zone.policy)
        return [(label, value.__str__) for label, value in facts]

    def serve(self, request: Request) -> Outcome:
        """Answer names in our zones."""
        query = request.query
        qtype = query.qtype
        if request.trace is not None:
            self._explain(request)
        if self._simple and query.name.endswith(self._primary.services):
            outcome = self._below_services(request, query, qtype)
            if outcome is not None:
                return outcome
        zone = self._zone_of(query)
        if zone is None:
            return self.next.serve(request)
        special = self._SPECIAL.get(qtype)
        if special is not None and (outcome := special(self, request, zone)) is not None:
            return outcome
        if query.name == zone.ns_dns and qtype not in _NOT_AT_NS_DNS:
            return self._reply(query, zone)
        return self._look_up(request, zone)

    def _explain(self, request: Request) -> None:
        zone = self._zone_of(request.query)
        if zone is None:
            note_zone_missing(request, self.zones)
            return
        known = Known(zone.name, zone.ns_dns, zone.index, zone.policy, self._versions())
        note_answer(request, known, falls=self.config.fallthrough.covers(request.name))

    def _zone_of(self, query: Query) -> Zone | None:
        for zone in self._zones:
            if query.within(zone.name):
                return zone
        return None

    def _below_services(self, request: Request, query: Query, qtype: int) -> Outcome | None:
        """What most questions are about, in one look-up; None: not that simple.

        A Service's own address, and every name at or below a Service that does not exist (a pod's search list asks for
        more of these than of anything else).
        """
        zone = self._primary
        name, starts = query.name, query.starts
        at = len(name) - len(zone.services)
        depth = starts.index(at) if at in starts else 0
        if depth < 2:
            return None
        key = name[starts[depth - 2] : at]
        entry = self.index.services.get(key)
        if entry is None:
            if qtype in _NEVER_MISSING:
                return None
            outcome = self._missing(request, zone, (key,))
            if request.repeats is not None and isinstance(outcome, Reply) and outcome.steady is self:
                outcome.alike = Unserved(self.index, key, own=depth == 2)
            return outcome
        size = _ADDRESS_SIZES.get(qtype)
        if depth > 2 or size is None or entry.kind != CLUSTER_IP or not self._exposes(entry.namespace):
            return None
        ttl = self.policy.ttl
        records = tuple([address(query.qname, ttl, packed) for packed in entry.addresses if len(packed) == size])
        if records:
            reply = self._steady(authoritative(query, records, depends=(key,)))
        else:
            reply = self._steady(self._reply(query, zone, depends=(key,)))
        if request.repeats is not None and len(records) < 2:
            record = record_head(qtype, ttl, size) if records else b""
            reply.alike = Served(self.index, self._exposes, key[key[0] + 1 :], size, record)
        return reply

    def _exposes(self, namespace: bytes) -> bool:
        exposed = self.policy.namespaces
        return namespace in self.index.namespaces and (exposed is None or namespace in exposed)

    def _look_up(self, request: Request, zone: Zone) -> Outcome:
        query = request.query
        result = answer(zone.index, zone.policy, zone.name, query.qname, query.qtype)
        if not result.exists:
            return self._missing(request, zone, result.depends)
        if result.chase:
            return self._chase(request, zone, result)
        return self._reply(query, zone, result.answer, result.additional, result.depends)

    def _steady(self, reply: Reply) -> Reply:
        """Vouch for a fresh reply that only the question and the index made."""
        reply.steady = self
        return reply

    def _missing(self, request: Request, zone: Zone, depends: tuple[bytes, ...]) -> Outcome:
        """NXDOMAIN; until the cluster was read nobody can know that, and the answer is SERVFAIL."""
        query = request.query
        falls = zone.falls
        if falls or (falls is None and self.config.fallthrough.covers(query.name)):
            return self.next.serve(request)
        soa = (self._soa(query, zone),)
        if not zone.index.known:
            return authoritative(query, authority=soa, rcode=consts.SERVFAIL, depends=depends)
        return self._steady(authoritative(query, authority=soa, rcode=consts.NXDOMAIN, depends=depends))

    def _reply(
        self, query: Query, zone: Zone, records: Records = (), glue: Records = (), depends: tuple[bytes, ...] = ()
    ) -> Reply:
        """An answer, or NODATA without records."""
        if records:
            return authoritative(query, records, additional=glue, depends=depends)
        return authoritative(query, authority=(self._soa(query, zone),), depends=depends)

    def _soa(self, query: Query, zone: Zone) -> Record:
        """The zone's SOA in the question's spelling; that of the usual one is kept until the serial changes."""
        spelled = query.qname[len(query.qname) - len(zone.name) :]
        serial = zone.index.serial
        kept = zone.soa
        if kept is not None and kept[0] == serial and kept[1].owner == spelled:
            return kept[1]
        record = self._make_soa(spelled, serial)
        zone.soa = (serial, record)
        return record

    def _make_soa(self, zone: bytes, serial: int) -> Record:
        ttl = self.policy.ttl
        timers = (_REFRESH, _RETRY, _EXPIRE, ttl)
        mname, rname = _NS_DNS + zone, _HOSTMASTER + zone
        return soa(zone, min(ttl, _SOA_TTL_LIMIT), mname, rname, serial, timers)

    def _apex_soa(self, request: Request, zone: Zone) -> Outcome:
        """SOA exists at the apex; everywhere else it is NODATA, whether the name exists or not."""
        query = request.query
        return self._reply(query, zone, (self._soa(query, zone),) if query.name == zone.name else ())

    def _refuse_transfer(self, request: Request, zone: Zone) -> Outcome:
        return failure(consts.REFUSED)

    def _reverse(self, request: Request, zone: Zone) -> Outcome | None:
        query = request.query
        packed = addr.from_reverse_name(query.name)
        if packed is None:
            return None
        ttl, primary = self.policy.ttl, self.config.primary
        found = names_of_address(self.index, self.policy, packed)
        targets = [prefix + primary for prefix in found if len(prefix) + len(primary) <= names.MAX_NAME]
        if not targets:
            return self._missing(request, zone, (packed,))
        return self._reply(query, zone, tuple(ptr(query.qname, ttl, target) for target in targets), depends=(packed,))

    def _name_servers(self, request: Request, zone: Zone) -> Outcome | None:
        query = request.query
        if query.name != zone.name:
            return None
        spelled, ttl = query.qname, self.policy.ttl
        servers = name_servers(self.index, self.local)
        records = tuple(ns(spelled, ttl, server.prefix + spelled) for server in servers)
        glue = tuple(address(server.prefix + spelled, ttl, packed) for server in servers for packed in server.addresses)
        return self._reply(query, zone, records, glue, name_server_keys(self.index, self.local))

    def _server_addresses(self, request: Request, zone: Zone) -> Outcome | None:
        """`ns.dns.ZONE` has the addresses of every name server."""
        query = request.query
        if query.name != zone.ns_dns:
            return None
        size = _ADDRESS_SIZES[query.qtype]
        unique = dict.fromkeys(packed for server in name_servers(self.index, self.local) for packed in server.addresses)
        records = tuple(address(query.qname, self.policy.ttl, packed) for packed in unique if len(packed) == size)
        return self._reply(query, zone, records, depends=name_server_keys(self.index, self.local))

    def _chase(self, request: Request, zone: Zone, result: Result) -> Outcome:
        """Append what the names outside the zone lead to; a failed look-up leaves the CNAME alone."""
        query = request.query
        base = self._reply(query, zone, result.answer, result.additional, result.depends)
        if len(result.chase) == 1:
            return then(request.lookup(result.chase[0], query.qtype), lambda found: _extended(base, found))
        return self._chase_all(request, base, result.chase)

    _SPECIAL: ClassVar[Mapping[int, Callable[[Kubernetes, Request, Zone], Outcome | None]]] = {
        consts.TYPE_A: _server_addresses,
        consts.TYPE_AAAA: _server_addresses,
        consts.TYPE_SOA: _apex_soa,
        consts.TYPE_NS: _name_servers,
        consts.TYPE_PTR: _reverse,
        consts.TYPE_AXFR: _refuse_transfer,
        consts.TYPE_IXFR: _refuse_transfer,
    }

    @staticmethod
    async def _chase_all(request: Request, base: Reply, targets: Iterable[bytes]) -> Reply:
        for target in targets:
            found = await settled(request.lookup(target, request.query.qtype))
            base = _extended(base, found)
        return base


def _extended(base: Reply, found: Reply) -> Reply:
    flags = base.flags | found.flags & consts.TC
    return base.replace(answer=base.answer + found.answer, flags=flags, depends=base.depends + found.depends)
