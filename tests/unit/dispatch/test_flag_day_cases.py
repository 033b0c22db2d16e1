"""EDNS as resolvers try it out on the DNS flag day list (B144), and packets that are made to hurt (S15, S18)."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import pytest

from support.listening import World, response

HEADER = b"\x12\x34\x01\x00"
QUESTION = b"\x03www\x07example\x03org\x00\x00\x01\x00\x01"
RECORD = b"\x00\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x0a\x00\x00\x01"
NSID, SUBNET, EXPIRE, COOKIE, KEEPALIVE, PADDING = (
    b"\x00\x03\x00\x00",
    b"\x00\x08\x00\x07\x00\x01\x18\x00\xc0\x00\x02",
    b"\x00\x09\x00\x00",
    b"\x00\x0a\x00\x08abcdefgh",
    b"\x00\x0b\x00\x00",
    b"\x00\x0c\x00\x04\x00\x00\x00\x00",
)
UNKNOWN = b"\x00\x64\x00\x04test"
DO, UNKNOWN_FLAG = 0x8000, 0x0080


def opt(*options: bytes, version: int = 0, flags: int = 0, size: int = 1232) -> bytes:
    data = b"".join(options)
    return b"\0\0\x29" + b"".join(
        (
            size.to_bytes(2, "big"),
            bytes((0, version)),
            flags.to_bytes(2, "big"),
            len(data).to_bytes(2, "big"),
            data,
        )
    )


def packet(*additional: bytes, answer: bytes = b"", header: bytes = HEADER) -> bytes:
    counts = (1, 1 if answer else 0, 0, len(additional))
    return header + b"".join(n.to_bytes(2, "big") for n in counts) + QUESTION + answer + b"".join(additional)


def ask(wire: bytes, *, datagram: bool = True) -> dns.message.Message | None:
    answer = World().server.serve(wire, ("192.0.2.9", 4000), datagram)
    assert answer is None or isinstance(answer, bytes)
    return None if answer is None else dns.message.from_wire(answer)


class Expected(NamedTuple):
    """rcode, whether there is an answer, EDNS version or -1, whether DO is set, and the codes of the options."""

    rcode: int
    answered: bool
    edns: int = 0
    do: bool = False
    options: tuple[int, ...] = ()


BADVERS = Expected(dns.rcode.BADVERS, False)
GOOD = Expected(dns.rcode.NOERROR, True)


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        pytest.param(packet(), GOOD._replace(edns=-1), id="dns"),
        pytest.param(packet(opt()), GOOD, id="edns"),
        pytest.param(packet(opt(version=1)), BADVERS, id="edns1"),
        pytest.param(packet(opt(version=255)), BADVERS, id="edns255"),
        pytest.param(packet(opt(UNKNOWN, version=1)), BADVERS, id="edns1opt"),
        pytest.param(packet(opt(version=1, flags=UNKNOWN_FLAG)), BADVERS, id="edns1flags"),
        pytest.param(packet(opt(version=1, flags=DO)), BADVERS, id="edns1do"),
        pytest.param(packet(opt(UNKNOWN)), GOOD, id="ednsopt"),
        pytest.param(packet(opt(UNKNOWN, UNKNOWN, size=4096)), GOOD, id="ednsopt twice"),
        pytest.param(packet(opt(flags=UNKNOWN_FLAG)), GOOD, id="ednsflags"),
        pytest.param(packet(opt(flags=DO | UNKNOWN_FLAG)), GOOD._replace(do=True), id="do"),
        pytest.param(packet(opt(SUBNET)), GOOD, id="subnet"),
        pytest.param(
            packet(opt(NSID, SUBNET, EXPIRE, COOKIE, KEEPALIVE, PADDING)),
            GOOD._replace(options=(3, 9, 10, 11, 12)),
            id="optlist",
        ),
        pytest.param(packet(opt(size=0)), GOOD, id="size 0"),
        pytest.param(packet(opt(size=65535)), GOOD, id="size 65535"),
        pytest.param(packet(answer=opt(version=1)), GOOD._replace(edns=-1), id="in the answer section"),
        pytest.param(packet(opt(), answer=opt(version=1)), GOOD, id="in both sections"),
        # RFC 6891 section 6.1.1 wants FORMERR; the last one counts as in CoreDNS.
        pytest.param(packet(opt(version=1), opt()), GOOD, id="twice"),
        pytest.param(packet(opt()[:-1]), Expected(dns.rcode.FORMERR, False, -1), id="cut short"),
        pytest.param(packet(b"\1a" + opt()), Expected(dns.rcode.FORMERR, False, -1), id="not at the root"),
    ],
)
@pytest.mark.parametrize("datagram", [True, False], ids=["udp", "tcp"])
def test_edns(wire: bytes, expected: Expected, datagram: bool) -> None:
    """B144"""
    message = ask(wire, datagram=datagram)
    assert message is not None
    found = (
        message.rcode(),
        bool(message.answer),
        message.edns,
        bool(message.ednsflags & dns.flags.DO),
        tuple(int(option.otype) for option in message.options),
    )
    assert found == expected
    assert message.ednsflags & 0x7FFF == 0


@pytest.mark.parametrize("wire", [response(), response()[:12], packet(header=b"\x12\x34\x81\x05")])
def test_no_response_is_answered(wire: bytes) -> None:
    """S18: two servers that answer each other's responses go on for ever."""
    assert ask(wire) is None


@pytest.mark.parametrize("opcode", [dns.opcode.QUERY, dns.opcode.STATUS, dns.opcode.NOTIFY, dns.opcode.UPDATE, 15])
def test_what_we_answer_is_not_answered_by_us(opcode: int) -> None:
    """S18: whatever the error is that one server sends another, it ends there."""
    flags = (opcode << 11).to_bytes(2, "big")
    for body in (b"", QUESTION, b"\0\1" * 4):
        for counts in (b"\0\1\0\0\0\0\0\0", b"\xff\xff" * 4, bytes(8)):
            answer = World().server.serve(b"\x12\x34" + flags + counts + body, ("192.0.2.9", 53), True)
            assert isinstance(answer, bytes)
            assert ask(answer) is None


@pytest.mark.parametrize("section", range(4))
@pytest.mark.parametrize("name", [b"\xc0\x0c\0\1\0\1", RECORD], ids=["pointers", "records"])
def test_counts_cost_nothing(section: int, name: bytes) -> None:
    """S15: 64 KB that promise 65535 questions or records took 10 MB before anybody checked them."""
    counts = [1, 0, 0, 0]
    counts[section] = 65535
    body = QUESTION + name * ((65535 - 12 - len(QUESTION)) // len(name))
    wire = HEADER + b"".join(n.to_bytes(2, "big") for n in counts) + body
    server = World().server
    tracemalloc.start()
    try:
        answer = server.serve(wire, ("192.0.2.9", 4000), False)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(answer, bytes)
    assert dns.message.from_wire(answer).rcode() == dns.rcode.FORMERR
    assert most < 16 << 10
