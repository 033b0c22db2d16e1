"""Records as dnspython reads them."""

from __future__ import annotations

from collections.abc import Iterable

import dns.name
import dns.rdata
import dns.rdatatype

from waypost.wire.record import Record


def record_texts(records: Iterable[Record], origin: str = "") -> list[str]:
    """`OWNER TTL TYPE RDATA` of each, names relative to `origin` unless it is empty."""
    base = dns.name.from_text(origin) if origin else None
    out = []
    for owner, rtype, rclass, ttl, rdata in records:
        name = dns.name.from_wire(owner, 0)[0].choose_relativity(base)
        parsed = dns.rdata.from_wire(rclass, rtype, rdata, 0, len(rdata), base)
        out.append(f"{name} {ttl} {dns.rdatatype.to_text(rtype)} {parsed.to_text()}")
    return out
