"""Whatever an upstream sends, judging it raises nothing and gives no reply to another question."""

from __future__ import annotations

import dns.message
import dns.rrset
from hypothesis import given
from hypothesis import strategies as st

from support.chain import make_wire
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_reply import judge_datagram, judge_message
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import parse_query

QUERY = parse_query(make_wire("www.example.org.", "MX"))


def good_reply() -> bytes:
    reply = dns.message.make_response(dns.message.from_wire(QUERY.wire))
    for n in range(3):
        reply.answer.append(dns.rrset.from_text("www.example.org.", 60, "IN", "MX", f"{n} mail{n}.example.org."))
    reply.authority.append(dns.rrset.from_text("example.org.", 60, "IN", "SOA", "a.example.org. b. 1 2 3 4 5"))
    return reply.to_wire()


REPLY = good_reply()


def judge(data: bytes) -> None:
    for result in (judge_datagram(data, QUERY), judge_message(data, QUERY)):
        if isinstance(result, Message):
            assert (result.qname.lower(), result.qtype, result.qclass) == (QUERY.name, QUERY.qtype, QUERY.qclass)
            assert result.flags & consts.QR
        else:
            assert result is None or isinstance(result, UpstreamError)


@given(st.binary(min_size=12, max_size=700))
def test_any_bytes(data: bytes) -> None:
    judge(data)


@given(st.dictionaries(st.integers(0, len(REPLY) - 1), st.integers(0, 255), max_size=8), st.integers(12, len(REPLY)))
def test_a_reply_with_changed_bytes(changes: dict[int, int], size: int) -> None:
    data = bytearray(REPLY)
    for at, byte in changes.items():
        data[at] = byte
    judge(bytes(data[:size]))
