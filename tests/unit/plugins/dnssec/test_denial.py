import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest
from dns.rdtypes.ANY.NSEC import NSEC
from hypothesis import given
from hypothesis import strategies as st

from waypost.plugins.dnssec.denial import next_name, next_sibling, nsec
from waypost.wire import consts, names

ZONE = names.from_text("example.org.")
LABELS = st.binary(min_size=1, max_size=63).map(bytes.lower)


def read(rdata: bytes) -> NSEC:
    record = dns.rdata.from_wire(dns.rdataclass.IN, dns.rdatatype.NSEC, rdata, 0, len(rdata))
    assert isinstance(record, NSEC)
    return record


def types(rdata: bytes) -> list[str]:
    return read(rdata).to_text().split()[1:]


def judged(name: bytes) -> dns.name.Name:
    return dns.name.from_wire(name, 0)[0]


@given(st.lists(LABELS, min_size=1, max_size=8))
def test_what_follows_a_name_in_canonical_order(labels: list[bytes]) -> None:
    while sum(map(len, labels)) + len(labels) > 254:
        labels = labels[:-1]
    name = judged(names.from_labels(labels))
    following = judged(next_name(names.from_labels(labels)))
    assert name < following
    if len(name.to_wire() or b"") < 254:
        assert following == dns.name.Name((b"\0", *name.labels))


@given(st.lists(st.sampled_from((b"a" * 63, b"b\xff", b"\xff" * 63, b"@", b"x")), min_size=2, max_size=3))
def test_a_sibling_comes_behind_all_that_lies_below(labels: list[bytes]) -> None:
    labels = [*labels, b"a"]  # nothing follows a name of 255s alone
    name = judged(names.from_labels(labels))
    sibling = judged(next_sibling(names.from_labels(labels)))
    assert name < sibling
    assert dns.name.Name((b"\xff" * 8, *name.labels)) < sibling
    assert not sibling.is_subdomain(name)


def test_a_missing_name_has_everything_but_what_was_asked() -> None:
    rdata = nsec(names.from_text("no.example.org."), ZONE, consts.TYPE_TXT)
    assert read(rdata).next == dns.name.from_text(r"\000.no.example.org.")
    assert "TXT" not in types(rdata)
    assert {"A", "AAAA", "RRSIG", "NSEC"} <= set(types(rdata))
    assert not {"NS", "SOA", "DS"} & set(types(rdata))


@pytest.mark.parametrize(("name", "expected"), [("example.org.", True), ("www.example.org.", False)])
def test_only_the_apex_has_the_zones_own_records(name: str, expected: bool) -> None:
    assert {"SOA", "DNSKEY"} <= set(types(nsec(names.from_text(name), ZONE, consts.TYPE_A))) or not expected
    assert ("SOA" in types(nsec(names.from_text(name), ZONE, consts.TYPE_A))) is expected


def test_a_referral_denies_ds_alone() -> None:
    rdata = nsec(names.from_text("sub.example.org."), ZONE, consts.TYPE_A, referral=True)
    assert read(rdata).next == dns.name.from_text(r"sub\000.example.org.")
    assert {"A", "NS"} <= set(types(rdata))
    assert "DS" not in types(rdata)


@pytest.mark.parametrize("qtype", [consts.TYPE_NSEC, consts.TYPE_RRSIG])
def test_the_record_itself_is_never_denied(qtype: int) -> None:
    assert {"NSEC", "RRSIG"} <= set(types(nsec(names.from_text("a.example.org."), ZONE, qtype)))
