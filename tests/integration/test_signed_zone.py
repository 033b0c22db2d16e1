"""A zone signed by `sign` and served by `file` in one process, validated as a resolver would."""

from __future__ import annotations

from pathlib import Path

import dns.dnssec
import dns.message
import dns.name
import dns.query
import dns.rdatatype
import dns.rrset

from support.dnssec_keys import write_pair
from support.process import free_port, serving
from support.zones import write_zone

COREFILE = """\
example.org:{port} {{
    root {folder}
    sign db {{
        key directory keys
        directory .
    }}
    file db.example.org.signed {{
        reload 100ms
    }}
}}
"""
ORIGIN = dns.name.from_text("example.org.")


def test_signed_and_served(tmp_path: Path) -> None:
    write_zone(tmp_path / "db", "www 60 A 192.0.2.2\n")
    (tmp_path / "keys").mkdir()
    dnskey = write_pair(tmp_path / "keys", "Kexample.org.+015+00001")
    port = free_port()
    with serving(tmp_path, COREFILE.format(port=port, folder=tmp_path), port) as process:
        process.says("Successfully reloaded zone")
        keys = ask(port, "example.org.", "DNSKEY").answer
        assert [rdata for rrset in keys for rdata in rrset if rrset.rdtype == dnskey.rdtype] == [dnskey]
        for name, qtype, section in (("www.example.org.", "A", "answer"), ("none.example.org.", "A", "authority")):
            reply = ask(port, name, qtype)
            checked = validated(getattr(reply, section), {ORIGIN: dns.rrset.from_rdata(ORIGIN, 60, dnskey)})
            assert checked >= ({"A"} if section == "answer" else {"SOA", "NSEC"})
        assert process.stop() == 0


def ask(port: int, name: str, qtype: str) -> dns.message.Message:
    query = dns.message.make_query(name, qtype, want_dnssec=True)
    return dns.query.udp(query, "127.0.0.1", timeout=2, port=port)


def validated(section: list[dns.rrset.RRset], keys: dict[dns.name.Name, dns.rrset.RRset]) -> set[str]:
    """The types of a section's RRsets, each with a signature that is good now."""
    found = set()
    for rrset in section:
        if rrset.rdtype != dns.rdatatype.RRSIG:
            signatures = next(each for each in section if each.covers == rrset.rdtype and each.name == rrset.name)
            dns.dnssec.validate(rrset, signatures, keys)
            found.add(dns.rdatatype.to_text(rrset.rdtype))
    return found
