"""Zone look-ups by the examples of the RFCs and of public fault reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.zones import NS, SOA, lines, load
from waypost.toolkit.zonedata import Zone
from waypost.toolkit.zonelookup import YXDOMAIN, Found, complete, look_up
from waypost.wire import consts, names
from waypost.wire.record import address, ns
from waypost.wire.reply import Reply, failure

ZONE = """
www A 192.0.2.2
www AAAA 2001:db8::2
*.wild A 192.0.2.3
*.wild MX 5 www
a.b.wild A 192.0.2.4
f.*.e A 192.0.2.5
*.cn CNAME www
alias CNAME mail
mail MX 5 www
mail MX 6 www
_s._tcp SRV 0 0 1 WWW
_s._tcp SRV 0 0 2 www
svc HTTPS 1 www alpn=h2
svc SVCB 1 www
loop1 CNAME loop2
loop2 CNAME loop1
dangling CNAME missing
out CNAME www.example.net.
below CNAME x.sub
sub NS ns.sub
sub NS ns
ns.sub A 192.0.2.6
sub DS 1 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
www.sub A 192.0.2.7
dn DNAME target.example.net.
hidden.dn A 192.0.2.8
has\\046dot A 192.0.2.9
"""
SIGNED = """
@ NSEC a NS SOA RRSIG NSEC
@ RRSIG SOA 13 2 60 20300101000000 20200101000000 1 @ AAAA
a A 192.0.2.1
a RRSIG A 13 3 60 20300101000000 20200101000000 1 @ AAAA
a NSEC x.ent A RRSIG NSEC
x.ent A 192.0.2.2
x.ent NSEC sub A NSEC
sub NS ns.sub
sub NSEC *.w NS NSEC
ns.sub A 192.0.2.3
*.w A 192.0.2.4
*.w NSEC @ A NSEC
"""


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    return load(tmp_path, ZONE)


@pytest.fixture
def signed(tmp_path: Path) -> Zone:
    return load(tmp_path, SIGNED)


def ask(zone: Zone, name: str, qtype: str = "A", *, dnssec: bool = False) -> Found:
    number = consts.type_number(qtype)
    assert number is not None
    return look_up(zone, names.from_text(f"{name}.example.org." if name else "example.org."), number, dnssec=dnssec)


def answers(found: Found) -> list[str]:
    return [text.replace(".example.org.", "") for text in lines(found.answer)]


@pytest.mark.parametrize(
    ("name", "qtype", "answer", "additional"),
    [
        ("www", "A", ["www 60 A 192.0.2.2"], 0),
        ("wild", "A", None, 0),
        ("x.wild", "A", ["x.wild 60 A 192.0.2.3"], 0),
        ("x.y.wild", "A", ["x.y.wild 60 A 192.0.2.3"], 0),
        ("x.wild", "MX", ["x.wild 60 MX 5 www"], 2),
        ("x.wild", "TXT", None, 0),
        ("*.wild", "A", ["*.wild 60 A 192.0.2.3"], 0),
        ("b.wild", "A", ["b.wild 60 A 192.0.2.3"], 0),
        ("something.e", "A", None, 0),
        ("*.e", "A", None, 0),
        ("f.x.e", "A", None, 0),
        ("e", "A", None, 0),
        ("f.*.e", "A", ["f.*.e 60 A 192.0.2.5"], 0),
        ("x.cn", "A", ["x.cn 60 CNAME www", "www 60 A 192.0.2.2"], 0),
        ("x.cn", "CNAME", ["x.cn 60 CNAME www"], 0),
        ("alias", "MX", ["alias 60 CNAME mail", "mail 60 MX 5 www", "mail 60 MX 6 www"], 2),
        ("_s._tcp", "SRV", ["_s._tcp 60 SRV 0 0 1 WWW", "_s._tcp 60 SRV 0 0 2 www"], 2),
        ("svc", "HTTPS", ['svc 60 HTTPS 1 www alpn="h2"'], 2),
        ("svc", "SVCB", ["svc 60 SVCB 1 www"], 2),
        ("loop1", "A", ["loop1 60 CNAME loop2", "loop2 60 CNAME loop1"], 0),
        ("has\\.dot", "A", ["has\\.dot 60 A 192.0.2.9"], 0),
        ("has\\046dot", "A", ["has\\.dot 60 A 192.0.2.9"], 0),
        ("has.dot", "A", "NXDOMAIN", 0),
        ("x.b.wild", "A", "NXDOMAIN", 0),
        ("x.www", "A", "NXDOMAIN", 0),
        ("www", "ANY", None, 0),
    ],
)
def test_names(zone: Zone, name: str, qtype: str, answer: list[str] | str | None, additional: int) -> None:
    """B95, B96, B99, B107: wildcards as empty non-terminals, glue once each, escaped names, case of targets."""
    found = ask(zone, name, qtype)
    assert found.rcode == (consts.NXDOMAIN if answer == "NXDOMAIN" else consts.NOERROR)
    assert answers(found) == (answer if isinstance(answer, list) else [])
    assert lines(found.authority) == ([NS] if isinstance(answer, list) else [SOA])
    assert len(found.additional) == additional
    assert not found.referral
    assert not found.chase


def test_answers_to_the_name_servers_question_have_glue_and_no_authority(zone: Zone) -> None:
    found = ask(zone, "", "NS")
    assert lines(found.answer) == [NS]
    assert found.authority == ()
    assert lines(found.additional) == ["ns.example.org. 60 A 192.0.2.1"]


@pytest.mark.parametrize(("name", "qtype"), [("sub", "NS"), ("sub", "A"), ("www.sub", "A"), ("x.y.sub", "DS")])
def test_delegation_carries_the_glue_that_lies_below_it(zone: Zone, name: str, qtype: str) -> None:
    found = ask(zone, name, qtype)
    assert found.referral
    assert found.answer == ()
    assert lines(found.authority) == [
        "sub.example.org. 60 NS ns.sub.example.org.",
        "sub.example.org. 60 NS ns.example.org.",
    ]
    assert lines(found.additional) == ["ns.sub.example.org. 60 A 192.0.2.6"]


def test_ds_is_the_parents(zone: Zone) -> None:
    found = ask(zone, "sub", "DS")
    assert not found.referral
    assert len(found.answer) == 1
    assert lines(ask(zone, "", "DS").authority) == [SOA]


@pytest.mark.parametrize("name", ["x.dn", "hidden.dn"])
def test_dname_redirects_everything_below(zone: Zone, name: str) -> None:
    found = ask(zone, name)
    label = name.partition(".")[0]
    assert lines(found.answer) == [
        "dn.example.org. 60 DNAME target.example.net.",
        f"{name}.example.org. 60 CNAME {label}.target.example.net.",
    ]
    assert found.chase == names.from_text(f"{label}.target.example.net.")


def test_dname_itself_is_data(zone: Zone) -> None:
    assert answers(ask(zone, "dn", "DNAME")) == ["dn 60 DNAME target.example.net."]
    assert lines(ask(zone, "dn", "A").authority) == [SOA]


def test_dname_that_makes_the_name_too_long(tmp_path: Path) -> None:
    long = ".".join(["a" * 60] * 3)
    zone = load(tmp_path, f"dn DNAME {long}.example.net.\n")
    found = ask(zone, f"{'b' * 60}.dn")
    assert found.rcode == YXDOMAIN
    assert len(found.answer) == 1


def test_cname_chains_end_after_ten(tmp_path: Path) -> None:
    links = "".join(f"c{n} CNAME c{n + 1}\n" for n in range(1, 12))
    zone = load(tmp_path, f"{links}c12 A 192.0.2.2\n")
    assert len(ask(zone, "c1").answer) == 10
    assert answers(ask(zone, "c3"))[-1] == "c12 60 A 192.0.2.2"


@pytest.mark.parametrize(
    ("name", "vacant"),
    [("nope", True), ("e", True), ("", True), ("www", False), ("x.wild", False), ("sub", False), ("dangling", False)],
)
def test_what_may_fall_through(zone: Zone, name: str, vacant: bool) -> None:
    assert ask(zone, name, "TXT").vacant is vacant


def test_wildcard_is_named(zone: Zone) -> None:
    assert ask(zone, "x.y.wild").wildcard == names.from_text("*.wild.example.org.")
    assert ask(zone, "*.wild").wildcard == b""


def completed(zone: Zone, name: str, target: Reply) -> Found:
    found = ask(zone, name)
    assert found.chase
    return complete(zone, found, target)


def test_chased_answer_is_appended(zone: Zone) -> None:
    record = address(names.from_text("www.example.net."), 5, bytes(4))
    found = completed(zone, "out", Reply(consts.NOERROR, 0, (record,)))
    assert found.answer[-1] == record
    assert lines(found.authority) == [NS]
    assert found.rcode == consts.NOERROR


@pytest.mark.parametrize(
    ("target", "rcode", "authority"),
    [
        (Reply(consts.NXDOMAIN, 0), consts.NXDOMAIN, [SOA]),
        (Reply(consts.NOERROR, 0), consts.NOERROR, [SOA]),
        (failure(consts.SERVFAIL), consts.SERVFAIL, [NS]),
        (failure(consts.REFUSED), consts.NOERROR, [NS]),
    ],
)
def test_chase_that_finds_nothing(zone: Zone, target: Reply, rcode: int, authority: list[str]) -> None:
    found = completed(zone, "out", target)
    assert len(found.answer) == 1
    assert found.rcode == rcode
    assert lines(found.authority) == authority


def test_cname_into_a_delegation_refers_there(zone: Zone) -> None:
    server = ns(names.from_text("sub.example.org."), 60, names.from_text("ns.sub.example.org."))
    found = completed(zone, "below", Reply(consts.NOERROR, 0, authority=(server,)))
    assert len(found.answer) == 1
    assert found.authority == (server,)
    assert not found.referral


def test_chased_mx_gets_the_glue_of_this_zone(zone: Zone) -> None:
    """B96"""
    mail = ask(zone, "mail", "MX").answer
    found = complete(zone, ask(zone, "out", "MX"), Reply(consts.NOERROR, consts.AA, mail))
    assert len(found.additional) == 2


def owners(found: Found, rtype: int = consts.TYPE_NSEC) -> list[str]:
    return [names.to_text(record.owner) for record in found.authority if record.rtype == rtype]


@pytest.mark.parametrize(
    ("name", "qtype", "denials"),
    [
        ("a", "TXT", ["a.example.org."]),
        ("0", "A", ["example.org."]),
        ("nope", "A", ["x.ent.example.org.", "example.org."]),
        ("sz", "A", ["sub.example.org.", "example.org."]),
        ("ent", "A", ["a.example.org."]),
        ("w", "A", ["sub.example.org."]),
        ("x.w", "A", ["*.w.example.org."]),
        ("x.w", "TXT", ["*.w.example.org."]),
        ("sub", "DS", ["sub.example.org."]),
    ],
)
def test_denials(signed: Zone, name: str, qtype: str, denials: list[str]) -> None:
    """Glue below a cut has no NSEC and must not be taken for the name before."""
    assert owners(ask(signed, name, qtype, dnssec=True)) == denials
    assert owners(ask(signed, name, qtype)) == []


def test_signatures_only_when_asked_for(signed: Zone) -> None:
    assert [record.rtype for record in ask(signed, "a").answer] == [consts.TYPE_A]
    assert [record.rtype for record in ask(signed, "a", dnssec=True).answer] == [consts.TYPE_A, consts.TYPE_RRSIG]
    assert owners(ask(signed, "nope", dnssec=True), consts.TYPE_RRSIG) == ["example.org."]


def test_signed_zones_deny_empty_non_terminals_beside_wildcards(tmp_path: Path) -> None:
    zone = load(
        tmp_path, "@ NSEC * NS SOA NSEC\n* A 192.0.2.1\n* NSEC x.ent A NSEC\nx.ent A 192.0.2.2\nx.ent NSEC @ A NSEC\n"
    )
    assert ask(zone, "ent").answer == ()


def test_unsigned_zone_has_nothing_to_prove(zone: Zone) -> None:
    assert ask(zone, "nope", dnssec=True) == ask(zone, "nope")


def test_root_zone(tmp_path: Path) -> None:
    zone = load(tmp_path, "org. NS a.org.\na.org. A 192.0.2.2\n", ".", head=". 60 SOA a. b. 1 2 3 4 5\n. 60 NS a.\n")
    assert look_up(zone, names.from_text("x.org."), consts.TYPE_A).referral
    assert look_up(zone, names.from_text("nope."), consts.TYPE_A).rcode == consts.NXDOMAIN
    assert look_up(zone, names.ROOT, consts.TYPE_NS).answer
