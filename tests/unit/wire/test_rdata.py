"""Rdata read from a message: names uncompressed, and lengths that cannot be."""

from __future__ import annotations

import dns.message
import dns.rdata
import dns.rrset
import pytest

from waypost.wire.errors import FormErr
from waypost.wire.message import decode

TEXTS = {
    "A": "192.0.2.1",
    "AAAA": "2001:db8::1",
    "NS": "ns.example.org.",
    "CNAME": "b.example.org.",
    "PTR": "b.example.org.",
    "MX": "10 mx.example.org.",
    "SRV": "0 0 53 b.example.org.",
    "SOA": "ns.example.org. root.example.org. 1 2 3 4 5",
    "NAPTR": '10 10 "u" "E2U+sip" "" b.example.org.',
    "DNAME": "example.net.",
    "RP": "a.example.org. b.example.org.",
}


def message(rtype: str, change: int) -> bytes:
    """An answer with one record whose RDLENGTH and rdata are by so many bytes longer or shorter."""
    response = dns.message.make_response(dns.message.make_query("a.example.org.", rtype))
    response.answer.append(dns.rrset.from_text("a.example.org.", 60, "IN", rtype, TEXTS[rtype]))
    rdata = dns.rdata.from_text("IN", rtype, TEXTS[rtype]).to_wire()
    start = 12 + len(response.question[0].name.to_wire()) + 4 + 2 + 10
    packed = rdata + b"\0" * change if change >= 0 else rdata[:change]
    return response.to_wire()[: start - 2] + len(packed).to_bytes(2, "big") + packed


@pytest.mark.parametrize("rtype", TEXTS)
def test_the_right_length(rtype: str) -> None:
    assert decode(message(rtype, 0)).answer[0].rdata == dns.rdata.from_text("IN", rtype, TEXTS[rtype]).to_wire()


@pytest.mark.parametrize("change", [1, 4, -1])
@pytest.mark.parametrize("rtype", TEXTS)
def test_another_length(rtype: str, change: int) -> None:
    """A client would take the record for what it is not."""
    with pytest.raises(FormErr):
        decode(message(rtype, change))
