"""Zone files for tests, and records as the text that dnspython makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype

from waypost.toolkit.zonedata import Zone
from waypost.toolkit.zonefile import load_zone
from waypost.wire import names
from waypost.wire.record import Record

HEAD = "@ 60 IN SOA ns admin 7 7200 3600 1209600 300\n@ 60 IN NS ns\nns 60 IN A 192.0.2.1\n"
SOA = "example.org. 60 SOA ns.example.org. admin.example.org. 7 7200 3600 1209600 300"
NS = "example.org. 60 NS ns.example.org."


def write_zone(path: Path, text: str, *, head: str = HEAD) -> str:
    """A zone file with an SOA, NS and A of the name server (unless `head` is another), and this text."""
    path.write_text(head + text)
    return str(path)


def load(tmp_path: Path, text: str, origin: str = "example.org.", *, head: str = HEAD) -> Zone:
    """The zone that such a file holds."""
    zone = load_zone(write_zone(tmp_path / "db", text, head=head), names.from_text(origin))
    assert zone is not None
    return zone


def line(record: Record) -> str:
    """A record as `owner ttl type rdata`."""
    owner = dns.name.from_wire(record.owner, 0)[0]
    rtype = dns.rdatatype.RdataType.make(record.rtype)
    rdata = dns.rdata.from_wire(dns.rdataclass.IN, rtype, record.rdata, 0, len(record.rdata))
    return f"{owner} {record.ttl} {dns.rdatatype.to_text(rtype)} {rdata}"


def lines(records: Iterable[Record]) -> list[str]:
    """Records in their order."""
    return [line(record) for record in records]
