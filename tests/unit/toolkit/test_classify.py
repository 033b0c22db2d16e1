"""Kinds of replies by table; the signatures are dnspython's."""

from __future__ import annotations

import dns.rdata
import pytest

from support.chain import make_request, make_wire
from waypost.toolkit.classify import (
    DELEGATION,
    META,
    NODATA,
    NXDOMAIN,
    OTHER_ERROR,
    SERVER_ERROR,
    SUCCESS,
    Kind,
    classify,
)
from waypost.wire import consts
from waypost.wire.names import ROOT, from_text
from waypost.wire.query import parse_query
from waypost.wire.record import Record, address, ns, soa
from waypost.wire.reply import DROP, Reply, failure

NAME = from_text("example.org.")
A = address(NAME, 60, b"\x01\x02\x03\x04")
SOA = soa(NAME, 60, ROOT, ROOT, 1, (1, 2, 3, 4))
NS = ns(NAME, 60, ROOT)


def reply(rcode: int = 0, answer: tuple[Record, ...] = (), authority: tuple[Record, ...] = ()) -> Reply:
    return Reply(rcode, 0, answer, authority)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (reply(answer=(A,)), SUCCESS),
        (reply(answer=(A,), authority=(SOA,)), SUCCESS),
        (reply(authority=(NS,)), DELEGATION),
        (reply(authority=(NS, SOA)), NODATA),
        (reply(authority=(SOA,)), NODATA),
        (reply(), SUCCESS),
        (reply(consts.NXDOMAIN), NXDOMAIN),
        (reply(consts.NXDOMAIN, authority=(SOA,)), NXDOMAIN),
        (reply(consts.NXDOMAIN, answer=(A,), authority=(SOA,)), OTHER_ERROR),
        (reply(consts.SERVFAIL), SERVER_ERROR),
        (reply(consts.NOTIMP), SERVER_ERROR),
        (reply(consts.REFUSED), OTHER_ERROR),
        (reply(77), OTHER_ERROR),
        (failure(consts.SERVFAIL, "x"), SERVER_ERROR),
        (failure(consts.REFUSED), OTHER_ERROR),
        (failure(consts.NXDOMAIN), OTHER_ERROR),  # nothing is sent
        (DROP, OTHER_ERROR),
    ],
)
def test_kind_of_an_outcome(outcome: Reply, kind: Kind) -> None:
    assert classify(make_request().query, outcome) == kind


@pytest.mark.parametrize("qtype", ["AXFR", "IXFR"])
def test_transfers(qtype: str) -> None:
    assert classify(make_request(qtype=qtype).query, reply(answer=(A,))) == META


def test_notify() -> None:
    wire = bytearray(make_wire())
    wire[2] = 0x20
    assert classify(parse_query(bytes(wire)), reply(answer=(A,))) == META


@pytest.mark.parametrize(
    ("now", "kind"), [(1_000, SUCCESS), (2_000, SUCCESS), (999, OTHER_ERROR), (2_001, OTHER_ERROR)]
)
def test_signatures_outside_their_period(now: int, kind: Kind) -> None:
    rdata = dns.rdata.from_text("IN", "RRSIG", "A 8 2 60 2000 1000 1 . AAAA").to_wire()
    assert rdata is not None
    signed = reply(answer=(A, Record(NAME, consts.TYPE_RRSIG, consts.CLASS_IN, 60, rdata)))
    assert classify(make_request(do=True).query, signed, lambda: float(now)) == kind
    assert classify(make_request().query, signed, lambda: float(now)) == SUCCESS


def test_signature_times_wrap_around() -> None:
    rdata = dns.rdata.from_text("IN", "RRSIG", "A 8 2 60 100 4294967200 1 . AAAA").to_wire()
    assert rdata is not None
    signed = reply(answer=(Record(NAME, consts.TYPE_RRSIG, consts.CLASS_IN, 60, rdata),))
    query = make_request(do=True).query
    assert classify(query, signed, lambda: 2.0**32 + 50) == SUCCESS
    assert classify(query, signed, lambda: 2.0**32 + 150) == OTHER_ERROR
