"""A zone to a signed zone (RFC 4035 section 2, with NSEC), and to the text of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataset
import dns.rdatatype
import dns.rrset
import dns.transaction
import dns.zone
from dns.dnssectypes import DSDigest
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.DNSKEY import DNSKEY

from waypost.toolkit.dnssec_keys import Key
from waypost.toolkit.zonedata import Zone, make_zone
from waypost.wire import consts, names
from waypost.wire.record import Record

# What signing makes; and ZONEMD, a digest of the zone as it was before.
_MADE: Final = frozenset(
    (
        RdataType.DNSKEY, RdataType.RRSIG, RdataType.NSEC, RdataType.CDS, RdataType.CDNSKEY, RdataType.ZONEMD,
    )
)  # fmt: skip
_SERIAL: Final = slice(-20, -16)


def zone_to_sign(origin: bytes, records: Iterable[Record]) -> Zone:
    """The zone `origin` (lower case) of these records, without what signing makes. Raises ZoneError."""
    return make_zone(origin, (record for record in records if record.rtype not in _MADE))


def sign_zone(
    zone: Zone, keys: Sequence[Key], serial: int, period: tuple[int, int], pause: Callable[[], None]
) -> dns.zone.Zone:
    """The zone with DNSKEY, CDS, CDNSKEY, NSEC and RRSIG records, each RRset signed with every key.

    `period` is from when until when the signatures are good, in seconds since 1970. `pause` is called after each
    signature, so that others get their turn. Raises dns.exception.DNSException for a key that must not sign.
    """
    inception, expiration = period
    signed = _as_dnspython(zone, serial)
    origin = signed.origin
    assert origin is not None
    pairs: list[tuple[dns.dnssec.PrivateKey, DNSKEY]] = [(key.private, key.dnskey) for key in keys]
    sign_rrset = partial(
        dns.dnssec.default_rrset_signer,
        signer=origin,
        ksks=pairs,
        zsks=pairs,
        inception=inception,
        expiration=expiration,
        origin=origin,
    )

    def sign_and_pause(transaction: dns.transaction.Transaction, rrset: dns.rrset.RRset) -> None:
        sign_rrset(transaction, rrset)
        pause()

    with signed.writer() as transaction:
        for key in keys:
            transaction.add(origin, zone.soa.ttl, dns.dnssec.make_cds(origin, key.dnskey, DSDigest.SHA256))
            # CDNSKEY has the form of DNSKEY (RFC 7344 section 3.2).
            transaction.add(origin, zone.soa.ttl, _rdata(RdataType.CDNSKEY, key.rdata))
        dns.dnssec.sign_zone(signed, transaction, pairs, dnskey_ttl=zone.soa.ttl, rrset_signer=sign_and_pause)
    return signed


def zone_lines(zone: dns.zone.Zone) -> Iterator[str]:
    """Its records as lines of a zone file, names absolute; the SOA and its signatures come first."""
    assert zone.origin is not None
    first = [zone.find_rdataset(zone.origin, "SOA"), zone.find_rdataset(zone.origin, "RRSIG", "SOA")]
    for rdataset in first:
        yield rdataset.to_text(zone.origin)
    for name in sorted(zone.nodes):
        for rdataset in zone.nodes[name]:
            if not (name == zone.origin and rdataset in first):
                yield rdataset.to_text(name)


def _as_dnspython(zone: Zone, serial: int) -> dns.zone.Zone:
    """What lies below a DNAME is left out: nothing can be asked there, and the chain of NSEC records passes it."""
    out = dns.zone.Zone(_name(zone.origin), RdataClass.IN, relativize=False)
    hidden = {name for name in zone.cuts if consts.TYPE_DNAME in zone.nodes[name]}
    with out.writer() as transaction:
        for name, node in zone.nodes.items():
            if hidden and any(above in hidden for above in names.suffixes(names.parent(name))) and name != zone.origin:
                continue
            # SRV keeps the case of its owner (RFC 6763 section 4.1).
            owner = _name(node[consts.TYPE_SRV][0].owner if consts.TYPE_SRV in node else name)
            for records in node.values():
                transaction.add(owner, _rdataset(records, serial))
    return out


def _rdataset(records: Sequence[Record], serial: int) -> dns.rdataset.Rdataset:
    rtype = RdataType.make(records[0].rtype)
    wires = (record.rdata for record in records)
    if rtype == RdataType.SOA:
        wires = (_renumbered(wire, serial) for wire in wires)
    return dns.rdataset.from_rdata_list(records[0].ttl, [_rdata(rtype, wire) for wire in wires])


def _rdata(rtype: RdataType, wire: bytes) -> dns.rdata.Rdata:
    return dns.rdata.from_wire(RdataClass.IN, rtype, wire, 0, len(wire))


def _renumbered(soa: bytes, serial: int) -> bytes:
    return soa[: _SERIAL.start] + (serial & 0xFFFFFFFF).to_bytes(4, "big") + soa[_SERIAL.stop :]


def _name(wire: bytes) -> dns.name.Name:
    return dns.name.from_wire(wire, 0)[0]
