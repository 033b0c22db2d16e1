from __future__ import annotations

from typing import Any

import pytest

from support.route53 import record_set
from support.zones import lines
from waypost.plugins.route53.records import alias_of, in_decimal, zone_of
from waypost.toolkit.zonedata import ZoneError
from waypost.wire import consts, names

ORIGIN = names.from_text("example.org.")
SOA = "ns.example.org. admin.example.org. 1 7200 900 1209600 86400"


def zone(*sets: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The records beside the SOA, and what was complained about."""
    complaints: list[str] = []
    made = zone_of(ORIGIN, (record_set("example.org.", "SOA", SOA), *sets), complaints.append)
    return lines(made.records())[1:], complaints


@pytest.mark.parametrize(
    ("entry", "record"),
    [
        (record_set("www.example.org.", "A", "192.0.2.1"), "www.example.org. 300 A 192.0.2.1"),
        (record_set("www.example.org", "CNAME", "a.example.net"), "www.example.org. 300 CNAME a.example.net."),
        (record_set("\\052.example.org.", "TXT", '"a\\042b"'), '*.example.org. 300 TXT "a\\"b"'),
        (record_set("example.org.", "MX", "10 mail.example.org"), "example.org. 300 MX 10 mail.example.org."),
        (record_set("example.org.", "CAA", '0 issue "ca.example"'), 'example.org. 300 CAA 0 issue "ca.example"'),
        (record_set("a\\137b.example.org.", "A", "192.0.2.1", ttl=-5), "a_b.example.org. 0 A 192.0.2.1"),
        (record_set("x.example.org.", "HTTPS", "1 . alpn=h2"), 'x.example.org. 300 HTTPS 1 . alpn="h2"'),
    ],
)
def test_records(entry: dict[str, Any], record: str) -> None:
    assert zone(entry) == ([record], [])


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (record_set("www.example.org.", "A", "192.0.2"), "www.example.org. A: "),
        (record_set("a..example.org.", "A", "192.0.2.1"), "a..example.org. A: empty label"),
        (record_set("www.example.org.", "NOTYPE", "x"), "www.example.org. NOTYPE: "),
        ({"Name": "www.example.org.", "TTL": 1}, "www.example.org. None: 'Type'"),
        (record_set("\\777.example.org.", "A", "192.0.2.1"), "\\777.example.org. A: "),
    ],
)
def test_what_cannot_be_read_is_left_out_and_told(entry: dict[str, Any], complaint: str) -> None:
    records, complaints = zone(entry, record_set("www.example.org.", "AAAA", "2001:db8::1"))
    assert records == ["www.example.org. 300 AAAA 2001:db8::1"]
    assert complaints[0].startswith(f"Failed to process resource record set: {complaint}")


def test_weighted_sets_are_one() -> None:
    first, second = (
        record_set("www.example.org.", "A", f"192.0.2.{n}", ttl=n) | {"SetIdentifier": str(n)} for n in (1, 2)
    )
    assert zone(first, second) == (["www.example.org. 1 A 192.0.2.1", "www.example.org. 1 A 192.0.2.2"], [])


def test_aliases() -> None:
    entry = {
        "Name": "www.example.org.",
        "Type": "A",
        "AliasTarget": {"DNSName": "lb.example.net.", "HostedZoneId": "Z"},
    }
    made = zone_of(ORIGIN, (record_set("example.org.", "SOA", SOA), entry), print)
    node = made.nodes[names.from_text("www.example.org.")]
    assert alias_of(node, consts.TYPE_A) == names.from_text("lb.example.net.")
    assert alias_of(node, consts.TYPE_AAAA) == b""


def test_a_zone_needs_its_soa() -> None:
    with pytest.raises(ZoneError, match=r"has no SOA record for origin example\.org\."):
        zone_of(ORIGIN, (record_set("other.net.", "SOA", SOA),), print)


def test_in_decimal() -> None:
    assert in_decimal("\\052.a\\137b.\\40.org") == "\\042.a\\095b.\\40.org"
