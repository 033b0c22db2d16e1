"""Which packets are queries, and what the others get (RFC 1035, 6891, 9619; flag day cases)."""

from __future__ import annotations

import dns.edns
import dns.message
import dns.opcode
import dns.rcode
import pytest

from waypost.wire.errors import Rejected
from waypost.wire.query import parse_query

QUESTION = b"\x03www\x07example\x03org\x00\x00\x01\x00\x01"


def header(flags: int = 0x0100, qd: int = 1, an: int = 0, ns: int = 0, ar: int = 0) -> bytes:
    return b"\x12\x34" + b"".join(n.to_bytes(2, "big") for n in (flags, qd, an, ns, ar))


def rejection(wire: bytes) -> dns.message.Message | None:
    with pytest.raises(Rejected) as caught:
        parse_query(wire)
    reply = caught.value.reply
    return None if reply is None else dns.message.from_wire(reply)


def opt(size: int = 1232, ttl: int = 0, rdata: bytes = b"", owner: bytes = b"\x00") -> bytes:
    return (
        owner + b"\x00\x29" + size.to_bytes(2, "big") + ttl.to_bytes(4, "big") + len(rdata).to_bytes(2, "big") + rdata
    )


@pytest.mark.parametrize("wire", [b"", b"\x12", header()[:11], header(flags=0x8100) + QUESTION, header(flags=0x9100)])
def test_no_answer_at_all(wire: bytes) -> None:
    """S18"""
    assert rejection(wire) is None


@pytest.mark.parametrize("opcode", [1, 2, 5, 15])
def test_other_opcodes_are_not_implemented(opcode: int) -> None:
    reply = rejection(header(flags=opcode << 11 | 0x0100) + QUESTION)
    assert reply is not None
    assert (reply.rcode(), reply.opcode(), reply.question) == (dns.rcode.NOTIMP, opcode, [])


@pytest.mark.parametrize(
    "wire",
    [
        header(qd=0),
        header(qd=0) + QUESTION,
        header(qd=2) + QUESTION * 2,
        header(qd=65535) + QUESTION,
        header(an=2) + QUESTION,
        header(ns=2) + QUESTION,
        header(ar=3) + QUESTION,
        header() + QUESTION[:-1],
        header() + QUESTION[:5],
        header() + b"\x40" + b"a" * 64 + b"\x00\x00\x01\x00\x01",
        header() + b"\xc0\x0c\x00\x01\x00\x01",
        header() + b"\x3f" + (b"a" * 63 + b"\x3f") * 4 + b"\x00\x00\x01\x00\x01",
    ],
)
def test_format_errors_without_a_question(wire: bytes) -> None:
    """S15: counts are checked before anything is read."""
    reply = rejection(wire)
    assert reply is not None
    assert (reply.rcode(), reply.id, reply.question) == (dns.rcode.FORMERR, 0x1234, [])


@pytest.mark.parametrize(
    "extra",
    [
        opt()[:-1],
        opt(rdata=b"\x00\x0a\x00"),
        opt(rdata=b"\x00\x0a\x00\x08abc"),
        opt(rdata=b"\x00\x08\x00\x04\x00\x01\x21\x00"),
        opt(owner=b"\x01a\x00"),
        b"\x01a",
    ],
)
def test_a_bad_opt_is_a_format_error_with_the_question(extra: bytes) -> None:
    """B144"""
    reply = rejection(header(ar=1) + QUESTION + extra)
    assert reply is not None
    assert reply.rcode() == dns.rcode.FORMERR
    assert reply.question[0].name.to_text() == "www.example.org."
    assert reply.edns == -1


def test_a_bare_header_that_promises_a_question_is_a_server_failure() -> None:
    reply = rejection(header())
    assert reply is not None
    assert reply.rcode() == dns.rcode.SERVFAIL


def test_a_query_with_edns() -> None:
    message = dns.message.make_query("WWW.Example.org.", "AAAA", want_dnssec=True, payload=1400)
    message.use_edns(0, dns.flags.DO, 1400, options=[dns.edns.GenericOption(10, b"01234567")])
    query = parse_query(message.to_wire())
    assert query.name == b"\x03www\x07example\x03org\x00"
    assert query.qname == b"\x03WWW\x07Example\x03org\x00"
    assert (query.id, query.qtype, query.qclass, query.opcode, query.do) == (message.id, 28, 1, 0, True)
    assert query.opt is not None
    assert (query.opt.udp_size, query.opt.version) == (1400, 0)
    assert [(o.code, o.data) for o in query.opt.options] == [(10, b"01234567")]
    assert query.question == query.wire[12 : query.end]


def test_records_cut_off_and_trailing_bytes_are_tolerated() -> None:
    assert parse_query(header(ar=1) + QUESTION).opt is None
    assert parse_query(header() + QUESTION + b"rubbish").qtype == 1


def test_the_last_of_two_opts_counts_and_other_records_are_skipped() -> None:
    """B144"""
    wire = header(ar=2) + QUESTION + opt(size=512) + opt(size=4096)
    parsed = parse_query(wire)
    assert parsed.opt is not None
    assert parsed.opt.udp_size == 4096
    answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01"
    assert parse_query(header(an=1) + QUESTION + answer).opt is None


def test_asking_keeps_id_flags_and_edns() -> None:
    query = parse_query(dns.message.make_query("a.org.", "A", use_edns=0, payload=1400).to_wire())
    other = query.asking(b"\x01B\x00", 28)
    assert (other.id, other.flags, other.opt, other.name, other.qtype) == (
        query.id,
        query.flags,
        query.opt,
        b"\x01b\x00",
        28,
    )
    assert other.question == b"\x01B\x00\x00\x1c\x00\x01"
