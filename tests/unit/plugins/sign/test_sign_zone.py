"""Signed zones judged by dnspython: every signature, the chain of NSEC records, and what is left out."""

from __future__ import annotations

from pathlib import Path

import dns.dnssec
import dns.name
import dns.rdatatype
import dns.rrset
import dns.zone
import pytest
from dns.dnssectypes import Algorithm

from support.dnssec_keys import write_pair
from support.zones import load
from waypost.plugins.sign.signing import sign_zone, zone_lines, zone_to_sign
from waypost.toolkit.dnssec_keys import load_keys
from waypost.toolkit.zonedata import Zone, ZoneError
from waypost.toolkit.zonefile import load_zone
from waypost.toolkit.zonelookup import look_up
from waypost.wire import consts, names

NOW = 1_800_000_000
PERIOD = (NOW - 3600, NOW + 3600)
ORIGIN = dns.name.from_text("example.org.")
TEXT = """
www 300 A 192.0.2.2
www 300 A 192.0.2.3
*.wild 300 TXT "any"
a.b.c 300 AAAA 2001:db8::1
sub 300 NS ns.sub
sub 300 DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000
ns.sub 300 A 192.0.2.4
bare 300 NS ns.elsewhere.
moved 300 DNAME example.net.
under.moved 300 A 192.0.2.5
neighbour 300 A 192.0.2.6
"""


def signed(folder: Path, text: str = TEXT, algorithm: Algorithm = Algorithm.ECDSAP256SHA256, keys: int = 1) -> str:
    """The text of the signed zone of a zone file."""
    bases = []
    for number in range(keys):
        write_pair(folder, f"K{number}", algorithm=algorithm)
        bases.append(str(folder / f"K{number}"))
    source = load(folder, text)
    zone = zone_to_sign(source.origin, source.records())
    made = sign_zone(zone, load_keys(bases), NOW, PERIOD, lambda: None)
    return "\n".join(zone_lines(made)) + "\n"


def as_zone(text: str) -> dns.zone.Zone:
    return dns.zone.from_text(text, ORIGIN, relativize=False)


def signatures(
    zone: dns.zone.Zone, name: dns.name.Name, rtype: dns.rdatatype.RdataType
) -> dns.rdataset.Rdataset | None:
    return zone.get_rdataset(name, dns.rdatatype.RRSIG, rtype)


@pytest.mark.parametrize(
    "algorithm",
    [Algorithm.ECDSAP256SHA256, Algorithm.ECDSAP384SHA384, Algorithm.ED25519, Algorithm.ED448, Algorithm.RSASHA256],
)
def test_every_signature_is_good(tmp_path: Path, algorithm: Algorithm) -> None:
    zone = as_zone(signed(tmp_path, algorithm=algorithm, keys=2))
    dnskeys = {ORIGIN: zone.find_rdataset(ORIGIN, "DNSKEY")}
    assert len(dnskeys[ORIGIN]) == 2
    checked = set()
    for name, rdataset in zone.iterate_rdatasets():
        made = signatures(zone, name, rdataset.rdtype)
        if rdataset.rdtype == dns.rdatatype.RRSIG or made is None:
            continue
        assert len(made) == 2, "one with each key"
        assert made.ttl == rdataset.ttl
        for rrsig in made:
            dns.dnssec.validate_rrsig((name, rdataset), rrsig, dnskeys, now=NOW)
            assert (rrsig.inception, rrsig.expiration) == PERIOD
        checked.add((str(name), dns.rdatatype.to_text(rdataset.rdtype)))
    assert {("example.org.", kind) for kind in ("SOA", "NS", "DNSKEY", "CDS", "CDNSKEY", "NSEC")} <= checked
    assert {("sub.example.org.", "DS"), ("*.wild.example.org.", "TXT"), ("moved.example.org.", "DNAME")} <= checked


def test_glue_and_delegations_are_not_signed(tmp_path: Path) -> None:
    zone = as_zone(signed(tmp_path))
    for name, rtype in (("sub", "NS"), ("ns.sub", "A"), ("bare", "NS")):
        assert signatures(zone, dns.name.from_text(name, ORIGIN), dns.rdatatype.from_text(rtype)) is None
    assert zone.get_rdataset(dns.name.from_text("ns.sub", ORIGIN), "A") is not None, "the glue itself is there"


def test_the_chain_goes_once_around(tmp_path: Path) -> None:
    zone = as_zone(signed(tmp_path))
    chain = {name: rdataset[0] for name, rdataset in zone.iterate_rdatasets("NSEC")}
    assert set(map(str, chain)) == {
        "example.org.", "a.b.c.example.org.", "bare.example.org.", "moved.example.org.", "neighbour.example.org.",
        "ns.example.org.", "sub.example.org.", "*.wild.example.org.", "www.example.org.",
    }  # fmt: skip
    name, seen = ORIGIN, []
    for _ in chain:
        seen.append(name)
        name = chain[name].next
    assert name == ORIGIN
    assert seen == sorted(chain)
    assert str(chain[dns.name.from_text("sub", ORIGIN)]).split()[1:] == ["NS", "DS", "RRSIG", "NSEC"]
    assert {rdataset.ttl for _, rdataset in zone.iterate_rdatasets("NSEC")} == {300}, "the SOA's minimum"


def test_serial_keys_and_their_digest(tmp_path: Path) -> None:
    text = signed(tmp_path)
    zone = as_zone(text)
    (soa,) = zone.find_rdataset(ORIGIN, "SOA")
    assert soa.serial == NOW
    (key,) = zone.find_rdataset(ORIGIN, "DNSKEY")
    assert [str(rdata) for rdata in zone.find_rdataset(ORIGIN, "CDNSKEY")] == [str(key)]
    (cds,) = zone.find_rdataset(ORIGIN, "CDS")
    assert str(cds) == str(dns.dnssec.make_ds(ORIGIN, key, "SHA256"))
    assert [line.split()[3] for line in text.splitlines()[:2]] == ["SOA", "RRSIG"], "looked for at the head"


def test_what_signing_makes_is_not_taken_from_the_zone_file(tmp_path: Path) -> None:
    once = signed(tmp_path, "_http._tcp 300 SRV 1 2 80 www\n@ 300 ZONEMD 7 1 1 " + "00" * 48 + "\n")
    write_pair(tmp_path, "other")
    source = load_zone_text(tmp_path, once)
    zone = zone_to_sign(source.origin, source.records())
    again = as_zone(
        "\n".join(zone_lines(sign_zone(zone, load_keys([str(tmp_path / "other")]), 1, PERIOD, lambda: None)))
    )
    assert len(again.find_rdataset(ORIGIN, "DNSKEY")) == 1
    assert len(again.find_rdataset(ORIGIN, "NSEC")) == 1
    assert again.get_rdataset(ORIGIN, "ZONEMD") is None
    assert {len(rdataset) for rdataset in all_signatures(again)} == {1}


def all_signatures(zone: dns.zone.Zone) -> list[dns.rdataset.Rdataset]:
    return [rdataset for _, rdataset in zone.iterate_rdatasets() if rdataset.rdtype == dns.rdatatype.RRSIG]


def load_zone_text(folder: Path, text: str) -> Zone:
    (folder / "signed").write_text(text)
    zone = load_zone(str(folder / "signed"), names.from_text("example.org."))
    assert zone is not None
    return zone


def test_what_is_written_is_a_zone_that_denies(tmp_path: Path) -> None:
    """Read back by those who serve it: a name behind the DNAME is denied by a record that passes it."""
    zone = load_zone_text(tmp_path, signed(tmp_path))
    assert zone.signed
    found = look_up(zone, names.from_text("mozart.example.org."), consts.TYPE_A, dnssec=True)
    assert found.rcode == consts.NXDOMAIN
    covering = [record for record in found.authority if record.rtype == consts.TYPE_NSEC]
    assert names.from_text("moved.example.org.") in [record.owner for record in covering]
    denied = next(record for record in covering if record.owner == names.from_text("moved.example.org."))
    assert denied.rdata.startswith(names.from_text("neighbour.example.org."))


def test_letter_case_of_instance_names_is_kept(tmp_path: Path) -> None:
    text = signed(tmp_path, "My\\032Printer._ipp._tcp 300 SRV 0 0 631 www\n")
    assert "My\\032Printer._ipp._tcp.example.org. 300 IN SRV" in text


def test_a_pause_for_each_signature(tmp_path: Path) -> None:
    pauses: list[None] = []
    source = load(tmp_path, TEXT)
    write_pair(tmp_path)
    zone = zone_to_sign(source.origin, source.records())
    made = sign_zone(zone, load_keys([str(tmp_path / "K")]), NOW, PERIOD, lambda: pauses.append(None))
    assert len(pauses) == len(all_signatures(made))


def test_nsec3_is_refused(tmp_path: Path) -> None:
    source = load(tmp_path, "")
    soa = source.soa
    with pytest.raises(ZoneError, match="NSEC3 zone is not supported"):
        zone_to_sign(source.origin, [soa, soa._replace(rtype=consts.TYPE_NSEC3)])
