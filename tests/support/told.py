"""Explained queries made by hand."""

from __future__ import annotations

import dns.message
import dns.rcode
import dns.rrset

from waypost.dispatch.trace import Note
from waypost.explanation.told import Told


def make_told(name: str, *notes: Note, qtype: str = "A", rcode: str = "NOERROR", answer: tuple[str, ...] = ()) -> Told:
    """`answer` are records in text; no reply for the rcode DROP."""
    message = None
    if rcode != "DROP":
        message = dns.message.make_response(dns.message.make_query(name, qtype))
        message.set_rcode(dns.rcode.from_text(rcode))
        message.answer += [dns.rrset.from_text(*line.split(maxsplit=4)) for line in answer]
    return Told(name, qtype, "udp", "dns://:53", ".:53", notes, message, 0.1)
