"""Record sets of Route 53 to the records of a zone.

An alias set has no records; it stands for those of another name. It is kept as a record of a private type that holds
the type it is for and that name, so that all rules for names (wildcards, empty non-terminals, denials) hold for it too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype

from waypost.toolkit.zonedata import Node, Zone, make_zone
from waypost.wire import consts, names
from waypost.wire.errors import BadName
from waypost.wire.record import Record

TYPE_ALIAS: Final = 65401
"""Of private use (RFC 6895 section 3.1)."""
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_MAX_TTL: Final = 0x7FFFFFFF
_ALIAS_TTL: Final = 60


def zone_of(origin: bytes, sets: Iterable[Mapping[str, Any]], complain: Callable[[str], None]) -> Zone:
    """The zone of these record sets, as ListResourceRecordSets gives them. Raises ZoneError if it has no SOA.

    What cannot be read is left out, and told.
    """
    return make_zone(origin, _records(sets, complain))


def alias_of(node: Node, qtype: int) -> bytes:
    """The name that stands for a node's records of a type; empty if there is none."""
    for record in node.get(TYPE_ALIAS, ()):
        target = alias_target(record, qtype)
        if target:
            return target
    return b""


def alias_target(record: Record, qtype: int) -> bytes:
    """The name in an alias record if it is for this type, else nothing."""
    return record.rdata[2:] if record.rdata[:2] == qtype.to_bytes(2, "big") else b""


def _records(sets: Iterable[Mapping[str, Any]], complain: Callable[[str], None]) -> Iterator[Record]:
    for entry in sets:
        try:
            yield from _of_set(entry)
        except (dns.exception.DNSException, BadName, ValueError, KeyError, TypeError) as exc:
            what = f"{entry.get('Name')} {entry.get('Type')}"
            complain(f"Failed to process resource record set: {what}: {str(exc) or type(exc).__name__}")


def _of_set(entry: Mapping[str, Any]) -> Iterator[Record]:
    owner = names.from_text(in_decimal(entry["Name"]))
    rtype = dns.rdatatype.from_text(entry["Type"])
    alias = entry.get("AliasTarget")
    if alias is not None:
        target = names.from_text(in_decimal(alias["DNSName"]))
        yield Record(owner, TYPE_ALIAS, consts.CLASS_IN, _ALIAS_TTL, int(rtype).to_bytes(2, "big") + target)
    ttl = min(max(int(entry.get("TTL", 0)), 0), _MAX_TTL)
    for value in entry.get("ResourceRecords", ()):
        text = in_decimal(value["Value"])
        rdata = dns.rdata.from_text(dns.rdataclass.IN, rtype, text, dns.name.root, relativize=False)
        yield Record(owner, int(rtype), consts.CLASS_IN, ttl, rdata.to_wire() or b"")


def in_decimal(text: str) -> str:
    r"""Route 53 writes `\052` for an asterisk, in octal; DNS reads such numbers as decimal ones."""
    return _OCTAL.sub(lambda found: f"\\{int(found[1], 8):03d}", text)
