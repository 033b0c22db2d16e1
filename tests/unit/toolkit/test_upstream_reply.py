"""What goes upstream, and which packets count as the reply."""

from __future__ import annotations

import dns.edns
import dns.flags
import dns.message
import dns.rrset
import pytest

from support.chain import make_wire
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstream_reply import judge_datagram, judge_message, query_tail
from waypost.wire import consts
from waypost.wire.edns import Opt, Option
from waypost.wire.message import Message
from waypost.wire.names import from_text
from waypost.wire.query import Query, parse_query


def make_reply(query: Query, records: int = 1, *, tc: bool = False) -> dns.message.Message:
    made = dns.message.make_response(dns.message.from_wire(query.wire))
    for n in range(records):
        made.answer.append(dns.rrset.from_text(made.question[0].name, 60, "IN", "A", f"192.0.2.{n + 1}"))
    if tc:
        made.flags |= dns.flags.TC
    return made


def sent(query: Query) -> dns.message.Message:
    return dns.message.from_wire(b"\x12\x34" + query_tail(query))


def test_clients_message_goes_as_it_is() -> None:
    options = (dns.edns.GenericOption(65001, b"ab"), dns.edns.ECSOption("192.0.2.0", 24))
    wire = make_wire("WwW.example.org.", "HTTPS", do=True, bufsize=1400, options=options)
    assert query_tail(parse_query(wire)) == wire[2:]


def test_records_besides_opt_stay() -> None:
    notify = dns.message.make_query("example.org.", "SOA")
    notify.set_opcode(4)
    notify.answer.append(dns.rrset.from_text("example.org.", 0, "IN", "SOA", "a. b. 1 2 3 4 5"))
    assert query_tail(parse_query(notify.to_wire())) == notify.to_wire()[2:]


def test_changed_flags_go_upstream() -> None:
    query = parse_query(make_wire("example.org."))
    query.flags |= consts.AD
    assert sent(query).flags & dns.flags.AD


def test_changed_opt_goes_upstream() -> None:
    query = parse_query(make_wire("example.org.", bufsize=4096, do=True))
    query.opt = Opt(512, flags=0x8000, options=(Option(65001, b"x"),))
    message = sent(query)
    assert (message.payload, message.options[0].to_wire()) == (512, b"x")
    assert message.ednsflags & dns.flags.DO
    query.opt = None
    assert sent(query).edns == -1


def test_another_question_keeps_edns() -> None:
    query = parse_query(make_wire("example.org.", bufsize=1232, do=True)).asking(from_text("other.example."), 28)
    message = sent(query)
    assert message.question[0].to_text() == "other.example. IN AAAA"
    assert (message.payload, message.edns) == (1232, 0)


def test_reply_in_another_case_counts() -> None:
    query = parse_query(make_wire("ExAmple.org."))
    wire = make_reply(parse_query(make_wire("example.ORG."))).to_wire()
    message = judge_datagram(wire, query)
    assert isinstance(message, Message)
    assert len(message.answer) == 1


LIES = {
    "name": ("other.org.", "A", "IN"),
    "type": ("example.org.", "AAAA", "IN"),
    "class": ("example.org.", "A", "CH"),
}


@pytest.mark.parametrize("lie", LIES)
def test_reply_to_another_question(lie: str) -> None:
    name, qtype, qclass = LIES[lie]
    wire = make_reply(parse_query(make_wire(name, qtype, qclass=qclass)), 0).to_wire()
    query = parse_query(make_wire("example.org."))
    assert isinstance(judge_datagram(wire, query), Mismatch)
    assert isinstance(judge_message(wire, query), Mismatch)


def test_query_that_comes_back_is_no_reply() -> None:
    wire = make_wire("example.org.")
    assert isinstance(judge_datagram(wire, parse_query(wire)), Mismatch)


def test_reply_without_question() -> None:
    query = parse_query(make_wire("example.org."))
    reply = make_reply(query)
    reply.question = []
    assert isinstance(judge_datagram(reply.to_wire(), query), Mismatch)


@pytest.mark.parametrize("tc", [False, True])
def test_cut_anywhere_gives_tc_and_no_records(tc: bool) -> None:
    query = parse_query(make_wire("a-rather-long-name.example.org."))
    wire = make_reply(query, 20, tc=tc).to_wire()
    for size in range(12, len(wire)):
        message = judge_datagram(wire[:size], query)
        assert isinstance(message, Message), size
        assert message.flags & consts.TC
        assert message.answer == ()


def test_no_short_set_without_tc() -> None:
    for length in range(10, 31):
        query = parse_query(make_wire("n" * length + ".example.org."))
        for records in range(1, 40):
            wire = make_reply(query, records).to_wire()
            message = judge_datagram(wire, query)
            assert isinstance(message, Message)
            assert len(message.answer) == records if len(wire) <= 512 else message.flags & consts.TC


def test_longer_than_advertised_is_fine_with_edns() -> None:
    query = parse_query(make_wire("example.org.", bufsize=4096))
    message = judge_datagram(make_reply(query, 100).to_wire(), query)
    assert isinstance(message, Message)
    assert len(message.answer) == 100


def test_bad_record_is_an_error_not_a_truncation() -> None:
    query = parse_query(make_wire("example.org.", "NS"))
    reply = dns.message.make_response(dns.message.from_wire(query.wire))
    reply.answer.append(dns.rrset.from_text("example.org.", 60, "IN", "NS", "ns.example.org."))
    wire = bytearray(reply.to_wire())
    wire[-5 - len("example.org")] = 0x80  # a label type that does not exist
    result = judge_datagram(bytes(wire), query)
    assert isinstance(result, UpstreamError)
    assert str(result).startswith("bad reply: ")
    assert isinstance(judge_message(bytes(wire), query), UpstreamError)


def test_noise_is_waited_past() -> None:
    query = parse_query(make_wire("example.org."))
    reply = make_reply(query).to_wire()
    forged = reply[:12] + b"\x01x\x00\x00\x01\x00\x01"
    assert judge_datagram(forged, query) is None
    assert judge_datagram(reply[:2] + b"\x00\x00" + reply[4:20], query) is None
