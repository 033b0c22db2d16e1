"""One DNS zone in memory: its records by owner name and type, ready to be looked up (RFC 1034 section 4.3.2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from waypost.wire import consts, names
from waypost.wire.record import Record, Records

Node = Mapping[int, Records]
"""The RRsets of one name by type. Empty: the name is there only because names below it are."""

_NSEC3_TYPES = frozenset((consts.TYPE_NSEC3, 51))  # 51: NSEC3PARAM
_SERIAL = slice(-20, -16)
_COVERED = slice(0, 2)


class ZoneError(Exception):
    """These records are no zone that can be served."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone as a value: a reload makes a new one.

    `origin` and the keys of `nodes` are in wire form and lower case. `cuts` are the names below which this zone has no
    say: those with NS under the apex, and those with DNAME. `chain` holds, of a zone with NSEC records, every
    authoritative name in canonical order (RFC 4034 section 6.1) with its sort key.
    """

    origin: bytes
    nodes: Mapping[bytes, Node]
    soa: Record
    cuts: frozenset[bytes]
    chain: tuple[tuple[tuple[bytes, ...], bytes], ...]

    @property
    def serial(self) -> int:
        """The SOA's serial number."""
        return serial_of(self.soa)

    @property
    def apex(self) -> Node:
        """The RRsets of the zone's own name."""
        return self.nodes[self.origin]

    @property
    def signed(self) -> bool:
        """True if the zone can deny names with NSEC."""
        return bool(self.chain)

    def records(self) -> Iterator[Record]:
        """Every record, the SOA first."""
        yield self.soa
        for node in self.nodes.values():
            for rtype, records in node.items():
                if rtype != consts.TYPE_SOA:
                    yield from records

    def transfer(self, serial: int | None) -> Iterable[Record]:
        """What a zone transfer carries: all records between two SOAs, or the SOA alone for a client up to date."""
        if serial == self.serial:
            return (self.soa,)
        return self._transferred()

    def _transferred(self) -> Iterator[Record]:
        yield from self.records()
        yield self.soa

    def denial(self, name: bytes) -> Records:
        """NSEC, with its signatures, of the name itself or of the last authoritative one before it."""
        at = bisect_right(self.chain, canonical_key(name), key=lambda entry: entry[0])
        node = self.nodes[self.chain[at - 1][1]] if self.chain else {}
        return signed_set(node, consts.TYPE_NSEC)


def make_zone(origin: bytes, records: Iterable[Record]) -> Zone:
    """The zone `origin` (lower case) of these records.

    Owner names are folded to lower case but for SRV, whose instance names people read (RFC 6763 section 4.1); records
    outside the zone, repetitions and further SOAs are left out; an RRset gets the lowest of its TTLs (RFC 2181 section
    5.2). Raises ZoneError without an SOA and for NSEC3.
    """
    grouped: dict[bytes, dict[int, dict[bytes, Record]]] = {origin: {}}
    for record in records:
        owner = record.owner.lower()
        if record.rtype in _NSEC3_TYPES:
            raise ZoneError(f"NSEC3 zone is not supported: {names.to_text(owner)}")
        if not names.is_within(owner, origin):
            continue
        if record.rtype == consts.TYPE_SOA and (owner != origin or consts.TYPE_SOA in grouped[origin]):
            continue
        if record.rtype != consts.TYPE_SRV:
            record = record._replace(owner=owner)
        grouped.setdefault(owner, {}).setdefault(record.rtype, {}).setdefault(record.rdata, record)
    if consts.TYPE_SOA not in grouped[origin]:
        raise ZoneError(f"has no SOA record for origin {names.to_text(origin)}")
    nodes = {owner: _node(sets) for owner, sets in grouped.items()}
    _add_empty_non_terminals(nodes, origin)
    cuts = frozenset(owner for owner, node in nodes.items() if _is_cut(node, owner == origin))
    chain = _chain(nodes, cuts, origin) if consts.TYPE_NSEC in nodes[origin] else ()
    return Zone(origin, nodes, nodes[origin][consts.TYPE_SOA][0], cuts, chain)


def serial_of(soa: Record) -> int:
    """The serial number in an SOA record."""
    return int.from_bytes(soa.rdata[_SERIAL], "big")


def signatures(node: Node, rtype: int) -> Records:
    """The RRSIG records of a name that cover its RRset of this type."""
    covered = rtype.to_bytes(2, "big")
    return tuple(record for record in node.get(consts.TYPE_RRSIG, ()) if record.rdata[_COVERED] == covered)


def signed_set(node: Node, rtype: int) -> Records:
    """An RRset and its signatures; nothing if there is none."""
    records = node.get(rtype, ())
    return records + signatures(node, rtype) if records else ()


def canonical_key(name: bytes) -> tuple[bytes, ...]:
    """A lower-case name as a key that sorts in canonical order."""
    return tuple(reversed(names.labels(name)))


def _node(sets: dict[int, dict[bytes, Record]]) -> dict[int, Records]:
    return {rtype: _level_ttls(tuple(records.values())) for rtype, records in sets.items()}


def _level_ttls(records: Records) -> Records:
    if len(records) == 1 or len({record.ttl for record in records}) == 1:
        return records
    if records[0].rtype == consts.TYPE_RRSIG:  # one RRset for each type covered, with that type's TTL
        return records
    lowest = min(record.ttl for record in records)
    return tuple(record._replace(ttl=lowest) for record in records)


def _add_empty_non_terminals(nodes: dict[bytes, dict[int, Records]], origin: bytes) -> None:
    for owner in list(nodes):
        name = owner
        while name != origin:
            name = names.parent(name)
            if name in nodes:
                break
            nodes[name] = {}


def _is_cut(node: Node, apex: bool) -> bool:
    return consts.TYPE_DNAME in node or (consts.TYPE_NS in node and not apex)


def _chain(
    nodes: Mapping[bytes, Node], cuts: frozenset[bytes], origin: bytes
) -> tuple[tuple[tuple[bytes, ...], bytes], ...]:
    """Glue and whatever else lies below a cut is left out: no NSEC is there."""
    authoritative = (owner for owner, node in nodes.items() if node and not _below_cut(owner, cuts, origin))
    return tuple(sorted((canonical_key(owner), owner) for owner in authoritative))


def _below_cut(name: bytes, cuts: frozenset[bytes], origin: bytes) -> bool:
    while name != origin:
        name = names.parent(name)
        if name in cuts:
            return True
    return False
