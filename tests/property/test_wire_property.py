"""The codec against dnspython, both ways: what we write it reads, what it writes we read; any bytes are survived."""

from __future__ import annotations

from itertools import chain

import dns.flags
import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.wire import addr, consts, names
from waypost.wire.edns import Opt
from waypost.wire.errors import FormErr, Rejected
from waypost.wire.fit import pack, size_limit
from waypost.wire.message import decode
from waypost.wire.query import parse_query
from waypost.wire.record import Record
from waypost.wire.reply import Reply

labels = st.binary(min_size=1, max_size=20)
wire_names = st.lists(labels, max_size=5).map(names.from_labels)
ttls = st.integers(0, 2**31 - 1)


def record(rtype: int, rdata: st.SearchStrategy[bytes], owner: st.SearchStrategy[bytes]) -> st.SearchStrategy[Record]:
    return st.builds(lambda o, t, r: Record(o, rtype, consts.CLASS_IN, t, r), owner, ttls, rdata)


def soa_rdata(both: tuple[bytes, bytes]) -> bytes:
    return both[0] + both[1] + b"\x00\x00\x00\x07" * 5


def records(owner: st.SearchStrategy[bytes]) -> st.SearchStrategy[Record]:
    return st.one_of(
        record(consts.TYPE_A, st.binary(min_size=4, max_size=4), owner),
        record(consts.TYPE_AAAA, st.binary(min_size=16, max_size=16), owner),
        record(consts.TYPE_CNAME, wire_names, owner),
        record(consts.TYPE_NS, wire_names, owner),
        record(consts.TYPE_MX, wire_names.map(lambda n: b"\x00\x0a" + n), owner),
        record(consts.TYPE_SRV, wire_names.map(lambda n: b"\x00\x00\x00\x64\x00\x50" + n), owner),
        record(consts.TYPE_TXT, st.binary(max_size=200).map(lambda b: bytes((len(b),)) + b), owner),
        record(
            consts.TYPE_SOA,
            st.tuples(wire_names, wire_names).map(lambda p: p[0] + p[1] + b"\x00\x00\x00\x07" * 5),
            owner,
        ),
        record(65280, st.binary(max_size=40), owner),
    )


def names_of(message: dns.message.Message, section: list[dns.rrset.RRset]) -> list[tuple[bytes, int, int, bytes]]:
    return [
        (rrset.name.to_wire(), int(rrset.rdtype), rrset.ttl, rdata.to_wire(origin=None))
        for rrset in section
        for rdata in rrset
    ]


def as_tuples(section: tuple[Record, ...]) -> list[tuple[bytes, int, int, bytes]]:
    return [(r.owner, r.rtype, r.ttl, r.rdata) for r in section]


def read(wire: bytes) -> dns.message.Message:
    return dns.message.from_wire(wire, one_rr_per_rrset=True, ignore_trailing=False)


@given(wire_names)
def test_presentation_form_is_dnspythons(name: bytes) -> None:
    theirs = dns.name.from_wire(name, 0)[0]
    assert dns.name.from_text(names.to_text(name)) == theirs
    assert names.from_text(theirs.to_text()) == name


@given(wire_names, wire_names)
def test_is_within_is_dnspythons(name: bytes, zone: bytes) -> None:
    for one, other in (
        (name, zone),
        (zone, name),
        (name, name),
        (names.from_labels([b"x", *names.labels(zone)]), zone),
    ):
        theirs = dns.name.from_wire(one.lower(), 0)[0].is_subdomain(dns.name.from_wire(other.lower(), 0)[0])
        assert names.is_within(one.lower(), other.lower()) == theirs


@given(st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16))
def test_addresses_and_reverse_names_go_back(packed: bytes) -> None:
    assert addr.pack(addr.unpack(packed)) == packed
    assert addr.from_reverse_name(addr.reverse_name(packed)) == packed


@st.composite
def replies(draw: st.DrawFn) -> tuple[bytes, Reply, int | None]:
    qname = draw(wire_names)
    owners = st.one_of(st.just(qname), wire_names)
    sections = [tuple(draw(st.lists(records(owners), max_size=limit))) for limit in (12, 4, 6)]
    flags = draw(st.sampled_from([0, consts.AA, consts.RA | consts.RD, consts.AA | consts.RD | consts.AD]))
    rcode = draw(st.sampled_from([0, 2, 3, 5]))
    return qname, Reply(rcode, flags, *sections), draw(st.sampled_from([None, 100, 512, 700, 1232, 4096]))


@settings(max_examples=150)
@given(replies(), st.booleans())
def test_what_we_pack_dnspython_reads(case: tuple[bytes, Reply, int | None], datagram: bool) -> None:
    qname, reply, size = case
    query = dns.message.make_query(dns.name.from_wire(qname, 0)[0], "A", use_edns=False)
    if size is not None:
        query.use_edns(0, payload=size)
    parsed = parse_query(query.to_wire())
    wire = pack(parsed, reply, datagram=datagram)
    message = read(wire)
    assert len(wire) <= size_limit(parsed, datagram=datagram)
    assert message.id == query.id
    assert message.rcode() == reply.rcode
    assert message.question[0].name == query.question[0].name
    assert (message.edns >= 0) == (size is not None)
    got = [names_of(message, section) for section in (message.answer, message.authority, message.additional)]
    wanted = [as_tuples(section) for section in (reply.answer, reply.authority, reply.additional)]
    if not message.flags & dns.flags.TC:
        assert got == wanted
    else:
        flat_got, flat_wanted = list(chain(*got)), list(chain(*wanted))
        assert flat_got == flat_wanted[: len(flat_got)]
        assert len(flat_got) < len(flat_wanted)


@settings(max_examples=100)
@given(replies())
def test_what_dnspython_packs_we_decode(case: tuple[bytes, Reply, int | None]) -> None:
    qname, reply, size = case
    message = dns.message.make_response(dns.message.make_query(dns.name.from_wire(qname, 0)[0], "A"))
    for section, wanted in ((message.answer, reply.answer), (message.authority, reply.authority)):
        for one in wanted:
            rrset = dns.rrset.RRset(
                dns.name.from_wire(one.owner, 0)[0], dns.rdataclass.IN, dns.rdatatype.RdataType(one.rtype)
            )
            rrset.add(dns.rdata.from_wire(1, one.rtype, one.rdata, 0, len(one.rdata)), one.ttl)
            section.append(rrset)
    if size is not None:
        message.use_edns(0, payload=size)
    decoded = decode(message.to_wire(max_size=65535))
    assert as_tuples(decoded.answer) == as_tuples(reply.answer)
    assert as_tuples(decoded.authority) == as_tuples(reply.authority)
    assert (decoded.opt is not None) == (message.edns >= 0)
    assert decoded.qname == qname


@settings(max_examples=300)
@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_a_query_or_rejected(noise: bytes, plausible: bool) -> None:
    wire = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01" + noise if plausible else noise
    try:
        query = parse_query(wire)
    except Rejected as rejected:
        reply = rejected.reply
    else:
        reply = pack(query, Reply(0, 0), datagram=True)
        assert read(reply).id == query.id
    assert reply is None or (len(reply) >= 12 and reply[2] & 0x80)


@settings(max_examples=300)
@given(st.binary(max_size=120), st.integers(0, 3))
def test_any_bytes_are_a_message_or_formerr(noise: bytes, answers: int) -> None:
    wire = b"\x12\x34\x81\x80\x00\x01" + answers.to_bytes(2, "big") + b"\x00\x00\x00\x00" + noise
    try:
        decode(wire)
    except FormErr:
        pass


@given(replies(), st.data())
def test_a_cut_message_never_gives_a_wrong_record(case: tuple[bytes, Reply, int | None], data: st.DataObject) -> None:
    qname, reply, _ = case
    query = parse_query(dns.message.make_query(dns.name.from_wire(qname, 0)[0], "A").to_wire())
    wire = pack(query, reply, datagram=False)
    cut = data.draw(st.integers(0, len(wire) - 1))
    try:
        decoded = decode(wire[:cut])
    except FormErr:
        return
    assert as_tuples(decoded.answer) == as_tuples(reply.answer)


def test_an_opt_made_by_an_upstream_keeps_its_options() -> None:
    query = parse_query(dns.message.make_query("a.", "A", use_edns=0, payload=1400).to_wire())
    message = read(pack(query, Reply(0, 0, opt=Opt(4000)), datagram=True))
    assert message.payload == 1400
