"""RRsets to their RRSIG records, with the signatures kept while they are good for days."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import dns.dnssec
import dns.name
import dns.rdata
import dns.rrset
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType

from waypost.plugins.dnssec.metrics import Metrics
from waypost.toolkit.cachemap import CacheMap
from waypost.toolkit.dnssec_keys import Key
from waypost.wire import consts, names
from waypost.wire.record import Record, Records

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
# Clocks of validators may be behind; answers may be kept for days.
_BEFORE: Final = 3 * _HOUR
_LIFETIME: Final = 8 * _DAY
_RENEW: Final = 2 * _DAY
# What is signed as the TTL; validators take the smaller of this and the record's own (RFC 4035 section 5.3.3).
ORIGINAL_TTL: Final = 3600

RRset = tuple[bytes, bytes, int, frozenset[bytes]]


class Signatures(NamedTuple):
    """The rdata of an RRset's RRSIG records and when they end, in seconds since 1970."""

    rdatas: tuple[bytes, ...]
    expiration: int


class Signer:
    """Signs in the name of a zone. With a KSK and a ZSK each does its own part, else every key signs everything.

    At most `capacity` RRsets have their signatures kept. `now` gives seconds since 1970.
    """

    __slots__ = ("_kept", "_keys", "_ksks", "_now", "_zsks")

    def __init__(self, keys: Sequence[Key], capacity: int, rng: random.Random, now: Callable[[], float]) -> None:
        self._keys = tuple(keys)
        ksks, zsks = [key for key in keys if key.is_ksk], [key for key in keys if not key.is_ksk]
        split = bool(ksks and zsks)
        self._ksks = tuple(ksks if split else keys)
        self._zsks = tuple(zsks if split else keys)
        self._kept: CacheMap[RRset, Signatures] = CacheMap(capacity, rng)
        self._now = now

    def dnskeys(self, zone: bytes) -> Records:
        """The zone's DNSKEY records."""
        return tuple(Record(zone, consts.TYPE_DNSKEY, consts.CLASS_IN, ORIGINAL_TTL, key.rdata) for key in self._keys)

    def signed(self, zone: bytes, section: Records, metrics: Metrics) -> Records:
        """A section with RRSIG records behind each RRset of the zone; others are not ours to sign."""
        out: list[Record] = []
        for rrset in _rrsets(section):
            out += rrset
            if names.is_within(rrset[0].owner.lower(), zone):
                out += self._signatures(zone, rrset, metrics)
        return tuple(out)

    def _signatures(self, zone: bytes, rrset: list[Record], metrics: Metrics) -> Iterator[Record]:
        owner, rtype, _, ttl, _ = rrset[0]
        key: RRset = (zone, owner.lower(), rtype, frozenset(record.rdata for record in rrset))
        now = int(self._now())
        kept = self._kept.get(key)
        if kept is None or kept.expiration - now < _RENEW:
            metrics.misses.inc()
            kept = self._sign(key, now)
            self._kept.put(key, kept)
            metrics.entries.set(len(self._kept))
        else:
            metrics.hits.inc()
        for rdata in kept.rdatas:
            yield Record(owner, consts.TYPE_RRSIG, consts.CLASS_IN, ttl, rdata)

    def _sign(self, key: RRset, now: int) -> Signatures:
        zone, owner, rtype, wires = key
        rdatas = [dns.rdata.from_wire(RdataClass.IN, RdataType.make(rtype), wire, 0, len(wire)) for wire in wires]
        rrset = dns.rrset.from_rdata_list(dns.name.from_wire(owner, 0)[0], ORIGINAL_TTL, rdatas)
        signer = dns.name.from_wire(zone, 0)[0]
        expiration = now + _LIFETIME
        keys = self._ksks if rtype == consts.TYPE_DNSKEY else self._zsks
        made = [
            dns.dnssec.sign(rrset, key.private, signer, key.dnskey, now - _BEFORE, expiration).to_wire() or b""
            for key in keys
        ]
        return Signatures(tuple(made), expiration)


def _rrsets(section: Records) -> Iterator[list[Record]]:
    """The records of each owner and type together, in the order in which the sets come."""
    sets: dict[tuple[bytes, int], list[Record]] = {}
    for record in section:
        sets.setdefault((record.owner.lower(), record.rtype), []).append(record)
    yield from sets.values()
