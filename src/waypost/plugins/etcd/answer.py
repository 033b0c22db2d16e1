"""From services to records, for one question. CNAME targets are followed in the zone, and looked up outside of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from waypost.dispatch.handler import settled
from waypost.dispatch.request import Request
from waypost.plugins.etcd.layout import BadEntry, Service, srv_weights
from waypost.plugins.etcd.store import Store
from waypost.wire import consts, names
from waypost.wire.record import Record, address, cname, ns, ptr, srv, txt

_APEX: Final = b"\x04apex\x03dns"
_NAME_SERVERS: Final = b"\x02ns\x03dns"
_MAX_CHAIN: Final = 10
# Other names that one question may lead to: data that branch at every step would otherwise never come to an end.
_MAX_TARGETS: Final = 64
_ADDRESSES: Final = (consts.TYPE_A, consts.TYPE_AAAA)
EXACT: Final = frozenset((consts.TYPE_CNAME, consts.TYPE_PTR))
"""Types that stand under the very key of a name: that it has none does not mean that nothing is below it."""


class Answered(NamedTuple):
    """Sections of an answer; no answer means that the name has no such records."""

    answer: list[Record]
    additional: list[Record]


class Answerer:
    """Makes the answer to one question. Methods give None if there is no such name.

    They raise ApiError and BadEntry. `depends` and `truncated` are what look-ups elsewhere have added.
    """

    __slots__ = ("_request", "_store", "_targets", "_zone", "depends", "truncated")

    def __init__(self, request: Request, store: Store, zone: bytes) -> None:
        self._request = request
        self._store = store
        self._zone = zone
        self._targets = 0
        self.depends: tuple[bytes, ...] = ()
        self.truncated = False

    async def answer(self) -> Answered | None:
        """What there is to say to the request's question."""
        query = self._request.query
        make = MAKERS.get(query.qtype)
        if make is None or (query.qtype == consts.TYPE_NS and query.name != self._zone):
            return Answered([], []) if await self._store.exists(query.name) else None
        return await make(self)

    async def addresses(self) -> Answered | None:
        """A, AAAA or TXT."""
        query = self._request.query
        found = await self._direct(query.qname, query.qtype, ())
        return None if found is None else Answered(_once(found), [])

    async def cname(self) -> Answered | None:
        """The first alias under the very key of the name."""
        query = self._request.query
        services = await self._store.services(query.name, query.qtype, exact=True)
        if services is None:
            return None
        first = services[:1]
        return Answered([cname(query.qname, s.ttl, s.target) for s in first if s.target], [])

    async def ptr(self) -> Answered | None:
        """Every host name under the very key of the name."""
        query = self._request.query
        services = await self._store.services(query.name, query.qtype, exact=True)
        if services is None:
            return None
        return Answered(_once(ptr(query.qname, s.ttl, s.target) for s in services if s.target), [])

    async def srv(self) -> Answered | None:
        """With the addresses of the targets. An address stands for the name of its key."""
        query = self._request.query
        services = await self._store.services(query.name, query.qtype)
        if services is None:
            return None
        weights = srv_weights(services)
        records = []
        seen = set()
        for service, weight in zip(services, weights, strict=True):
            place = (service.host, service.port)
            if service.is_alias or (service.address and place not in seen):
                seen.add(place)
                records.append(srv(query.qname, service.ttl, service.priority, weight, service.port, service.host))
        return Answered(_once(records), await self._glue(services))

    async def mx(self) -> Answered | None:
        """Of services that are marked as mail; the priority is the preference."""
        query = self._request.query
        services = await self._store.services(query.name, query.qtype)
        if services is None:
            return None
        mails = [service for service in services if service.mail and (service.address or service.is_alias)]
        records = [_mx(query.qname, service) for service in mails]
        return Answered(_once(records), await self._glue(mails))

    async def ns(self) -> Answered | None:
        """The name servers of the zone stand under `ns.dns` in it, as addresses."""
        query = self._request.query
        services = await self._store.services(names.join(_NAME_SERVERS, self._zone), query.qtype)
        if services is None:
            return None
        for service in services:
            if not service.address:
                where = service.key.decode("utf-8", "replace")
                raise BadEntry(f"{where}: NS record must be an IP address: {names.to_text(service.target)}")
        records = _once(ns(query.qname, service.ttl, service.host) for service in services)
        return Answered(records, await self._glue(services))

    async def _direct(self, owner: bytes, qtype: int, before: tuple[Record, ...]) -> list[Record] | None:
        """Records of a type at a name, and those that its aliases lead to; `before` are the aliases that led here."""
        services = await self._at(owner.lower(), qtype)
        if services is None:
            return None
        out: list[Record] = []
        for service in services:
            record = _record(owner, qtype, service)
            if record is not None:
                out.append(record)
            elif service.is_alias:
                out += await self._follow(cname(owner, service.ttl, service.target), qtype, before)
        return out

    async def _at(self, name: bytes, qtype: int) -> list[Service] | None:
        """The addresses of the zone itself stand under `apex.dns` in it or, as of old, anywhere."""
        if name == self._zone and qtype in _ADDRESSES:
            services = await self._store.services(names.join(_APEX, self._zone), qtype)
            if services is not None:
                return services
        return await self._store.services(name, qtype)

    async def _follow(self, alias: Record, qtype: int, before: tuple[Record, ...]) -> list[Record]:
        """The alias and what it leads to; nothing if that is itself, somebody before it, or not there."""
        target = alias.rdata.lower()
        known = any((other.owner.lower(), other.rdata.lower()) == (alias.owner.lower(), target) for other in before)
        # A name stands for all below it, so one below it leads back.
        if known or names.is_within(target, alias.owner.lower()) or len(before) > _MAX_CHAIN:
            return []
        if not self._may_go_on():
            return []
        if names.is_within(target, self._zone):
            further = await self._direct(alias.rdata, qtype, (*before, alias))
            return [alias, *further] if further else []
        return [alias, *await self._elsewhere(alias.rdata, qtype)]

    async def _elsewhere(self, name: bytes, qtype: int) -> Iterable[Record]:
        reply = await settled(self._request.lookup(name, qtype))
        self.depends += reply.depends
        self.truncated = self.truncated or bool(reply.flags & consts.TC)
        return reply.answer

    async def _glue(self, services: Iterable[Service]) -> list[Record]:
        """The addresses of the hosts that services name."""
        out: list[Record] = []
        hosts = set()
        for service in services:
            if service.address:
                out.append(address(service.host, service.ttl, service.address))
            elif service.is_alias and service.host not in hosts and self._may_go_on():
                hosts.add(service.host)
                for qtype in _ADDRESSES:
                    if names.is_within(service.host.lower(), self._zone):
                        out += await self._direct(service.host, qtype, ()) or []
                    else:
                        out += await self._elsewhere(service.host, qtype)
        return _once(out)

    def _may_go_on(self) -> bool:
        self._targets += 1
        return self._targets <= _MAX_TARGETS


MAKERS: Final[dict[int, Callable[[Answerer], Awaitable[Answered | None]]]] = {
    consts.TYPE_A: Answerer.addresses,
    consts.TYPE_AAAA: Answerer.addresses,
    consts.TYPE_TXT: Answerer.addresses,
    consts.TYPE_CNAME: Answerer.cname,
    consts.TYPE_PTR: Answerer.ptr,
    consts.TYPE_SRV: Answerer.srv,
    consts.TYPE_MX: Answerer.mx,
    consts.TYPE_NS: Answerer.ns,
}


def _record(owner: bytes, qtype: int, service: Service) -> Record | None:
    """The record of the asked type that a service is by itself."""
    if qtype == consts.TYPE_TXT:
        return txt(owner, service.ttl, *_strings(service.text)) if service.text and not service.address else None
    size = 4 if qtype == consts.TYPE_A else 16
    return address(owner, service.ttl, service.address) if len(service.address) == size else None


def _mx(owner: bytes, service: Service) -> Record:
    rdata = service.priority.to_bytes(2, "big") + service.host
    return Record(owner, consts.TYPE_MX, consts.CLASS_IN, service.ttl, rdata)


def _strings(text: str) -> list[bytes]:
    """A text in pieces that a character-string can hold."""
    raw = text.encode()
    return [raw[i : i + 255] for i in range(0, len(raw), 255)]


def _once(records: Iterable[Record]) -> list[Record]:
    """Each record once, and each RRset with the lowest of its TTLs (RFC 2181 section 5)."""
    ttls: dict[tuple[bytes, int], int] = {}
    kept: dict[tuple[bytes, int, bytes], Record] = {}
    for record in records:
        rrset = (record.owner.lower(), record.rtype)
        ttls[rrset] = min(ttls.get(rrset, record.ttl), record.ttl)
        kept.setdefault((*rrset, record.rdata), record)
    return [record._replace(ttl=ttls[owner, rtype]) for (owner, rtype, _), record in kept.items()]
