"""What dnssec does with a query."""

from __future__ import annotations

from functools import partial
from typing import Final

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.plugins.dnssec.denial import nsec
from waypost.plugins.dnssec.metrics import Meters
from waypost.plugins.dnssec.signing import Signer
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, Records
from waypost.wire.reply import Reply, authoritative

_NOT_SIGNED: Final = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_MAX_CHAIN: Final = 16


class Dnssec:
    """Signs what the plugins behind it answer to clients that ask for signatures; gives the zones' DNSKEY records."""

    __slots__ = ("_meters", "_signer", "_zones", "name", "next")

    next: Handler

    def __init__(self, zones: ZoneList, signer: Signer, meters: Meters) -> None:
        self.name = "dnssec"
        self._zones = zones
        self._signer = signer
        self._meters = meters

    def serve(self, request: Request) -> Outcome:
        """The next one's reply, signed if the client set DO (RFC 3225)."""
        query = request.query
        zone = self._zones.match(query.name) if query.qclass == consts.CLASS_IN else None
        if zone is None:
            return self.next.serve(request)
        if query.qtype == consts.TYPE_DNSKEY and query.name == zone:
            keys = self._signer.dnskeys(zone)
            return authoritative(query, self._signed(request, zone, keys) if query.do else keys)
        if not query.do or query.qtype in _NOT_SIGNED:
            return self.next.serve(request)
        return then(self.next.serve(request), partial(self._sign, request, zone))

    def _sign(self, request: Request, zone: bytes, reply: Reply) -> Reply:
        """Errors have nothing to sign; what a signed zone answered is signed already."""
        if not reply.written or reply.rcode not in (consts.NOERROR, consts.NXDOMAIN) or _is_signed(reply):
            return reply
        request.note(self.name, "reply signed")
        if _is_referral(reply, zone):
            return self._sign_referral(request, zone, reply)
        answer = self._signed(request, zone, reply.answer)
        authority = self._signed(request, zone, reply.authority)
        additional = self._signed(request, zone, reply.additional)
        denied = _denied(request.query, reply, zone)
        if denied is None:
            return reply.replace(answer=answer, authority=authority, additional=additional)
        record = _nsec(denied, zone, request.query.qtype, reply.authority[0].ttl)
        denial = self._signed(request, zone, (record,))
        if request.query.qtype == consts.TYPE_NSEC:
            return reply.replace(rcode=consts.NOERROR, answer=answer + denial, authority=())
        return reply.replace(rcode=consts.NOERROR, answer=answer, authority=authority + denial, additional=additional)

    def _sign_referral(self, request: Request, zone: bytes, reply: Reply) -> Reply:
        """The NS records are the child's to sign; the DS records, or that there are none, are ours."""
        ds = tuple(record for record in reply.authority if record.rtype == consts.TYPE_DS)
        if ds:
            others = tuple(record for record in reply.authority if record.rtype != consts.TYPE_DS)
            return reply.replace(authority=others + self._signed(request, zone, ds))
        query = request.query
        record = _nsec(query.name, zone, query.qtype, reply.authority[0].ttl, referral=True)
        return reply.replace(authority=reply.authority + self._signed(request, zone, (record,)))

    def _signed(self, request: Request, zone: bytes, section: Records) -> Records:
        if not section:
            return section
        return self._signer.signed(zone, section, self._meters.of(request.server.label))


def _nsec(name: bytes, zone: bytes, qtype: int, ttl: int, *, referral: bool = False) -> Record:
    return Record(name, consts.TYPE_NSEC, consts.CLASS_IN, ttl, nsec(name, zone, qtype, referral=referral))


def _is_signed(reply: Reply) -> bool:
    return any(record.rtype == consts.TYPE_RRSIG for record in reply.answer + reply.authority)


def _is_referral(reply: Reply, zone: bytes) -> bool:
    """True for NS records of a zone below ours and nothing else (RFC 1034 section 4.3.2)."""
    if reply.answer or not reply.authority or reply.rcode != consts.NOERROR:
        return False
    first = reply.authority[0]
    has_soa = any(record.rtype == consts.TYPE_SOA for record in reply.authority)
    return first.rtype == consts.TYPE_NS and first.owner.lower() != zone and not has_soa


def _denied(query: Query, reply: Reply, zone: bytes) -> bytes | None:
    """The name of ours that a reply denies a type of, at the end of its CNAME records; None if there is none."""
    if not reply.authority or reply.authority[0].rtype != consts.TYPE_SOA or reply.authority[0].owner.lower() != zone:
        return None
    targets = {record.owner.lower(): record for record in reply.answer}
    name = query.name
    for _ in range(_MAX_CHAIN):
        record = targets.get(name)
        if record is None:
            return name if names.is_within(name, zone) else None
        if record.rtype != consts.TYPE_CNAME or query.qtype in (consts.TYPE_CNAME, consts.TYPE_ANY):
            return None
        name = record.rdata.lower()
    return None
