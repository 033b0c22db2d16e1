"""Size, truncation, compression and EDNS of replies, as dnspython reads them."""

from __future__ import annotations

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import pytest

from waypost.wire import consts
from waypost.wire.edns import Opt, Option, ede
from waypost.wire.fit import bad_version, pack, reply_size
from waypost.wire.names import from_text
from waypost.wire.query import Query, parse_query
from waypost.wire.record import Record, address, cname, srv, txt
from waypost.wire.reply import Reply

NAME = from_text("many.example.org.")


def query(size: int | None = None, **options: object) -> Query:
    message = dns.message.make_query("many.example.org.", "A", use_edns=False)
    if size is not None:
        message.use_edns(0, payload=size, **options)  # type: ignore[arg-type]
    return parse_query(message.to_wire())


def addresses(count: int, owner: bytes = NAME) -> tuple[Record, ...]:
    return tuple(address(owner, 60, bytes((10, 0, n >> 8, n & 255))) for n in range(count))


def read(wire: bytes) -> dns.message.Message:
    return dns.message.from_wire(wire, one_rr_per_rrset=True)


@pytest.mark.parametrize(("size", "kept"), [(None, 29), (100, 29), (1232, 74), (4096, 120)])
def test_truncated_to_the_clients_size(size: int | None, kept: int) -> None:
    message = read(pack(query(size), Reply(0, consts.AA, addresses(120)), datagram=True))
    assert len(message.answer) == kept
    assert bool(message.flags & dns.flags.TC) == (kept < 120)


def test_a_stream_takes_everything_up_to_its_limit() -> None:
    assert len(read(pack(query(), Reply(0, 0, addresses(2000)), datagram=False)).answer) == 2000
    message = read(pack(query(), Reply(0, 0, tuple(txt(NAME, 1, b"x" * 250) for _ in range(300))), datagram=False))
    assert message.flags & dns.flags.TC
    assert len(message.answer) == (65535 - 34) // 263


def test_what_fits_only_compressed_is_not_truncated() -> None:
    """B145"""
    names = [from_text(f"target-{n}.many.example.org.") for n in range(12)]
    reply = Reply(0, 0, tuple(cname(name, 1, name) for name in names))
    parsed = query()
    assert reply_size(parsed, reply) > 512
    message = read(pack(parsed, reply, datagram=True))
    assert len(message.answer) == 12
    assert not message.flags & dns.flags.TC


def test_losing_only_additional_records_sets_tc() -> None:
    message = read(pack(query(), Reply(0, 0, addresses(10), (), addresses(60, from_text("ns.org."))), datagram=True))
    assert len(message.answer) == 10
    assert message.flags & dns.flags.TC


def test_addresses_point_at_srv_targets_that_stay_whole() -> None:
    targets = [from_text(f"pod-{n}.db.shop.svc.cluster.local.") for n in range(20)]
    reply = Reply(
        0,
        0,
        tuple(srv(NAME, 5, 0, 5, 80, target) for target in targets),
        (),
        tuple(address(target, 5, b"\x0a\x00\x00\x01") for target in targets),
    )
    wire = pack(query(1440), reply, datagram=True)
    message = read(wire)
    assert len(message.additional) == 20
    assert all(target in wire for target in targets)


def test_the_clients_opt_comes_back_with_known_options_only() -> None:
    """B144"""
    options = [dns.edns.GenericOption(code, b"12345678") for code in (3, 8 + 100, 10, 12)]
    message = read(pack(query(1400, options=options, ednsflags=dns.flags.DO | 0x0001), Reply(0, 0), datagram=True))
    assert (message.payload, message.ednsflags & 0xFFFF) == (1400, dns.flags.DO)
    assert [int(option.otype) for option in message.options] == [3, 10, 12]


def test_a_plugins_opt_gets_the_clients_size() -> None:
    reply = Reply(consts.REFUSED, 0, opt=Opt(4096, flags=0x8000, options=(ede(15), Option(65001, b"x"))))
    with_edns = read(pack(query(700), reply, datagram=True))
    assert (with_edns.payload, [int(o.otype) for o in with_edns.options]) == (700, [15, 65001])
    without = read(pack(query(), reply, datagram=True))
    assert without.payload == 4096


def test_an_extended_rcode_needs_the_opt() -> None:
    assert read(pack(query(1232), Reply(23, 0, opt=Opt(1232)), datagram=True)).rcode() == dns.rcode.BADCOOKIE


def test_bad_version() -> None:
    """B144"""
    message = read(bad_version(query(1400)))
    assert (message.rcode(), message.payload, message.edns) == (dns.rcode.BADVERS, 0, 0)
    assert message.question[0].name.to_text() == "many.example.org."


def test_names_keep_their_case_in_compressed_messages() -> None:
    reply = Reply(
        0, 0, tuple(cname(from_text("MANY.example.ORG."), 1, from_text("Many.Example.org.")) for _ in range(20))
    )
    message = read(pack(query(), reply, datagram=True))
    assert message.answer[0].name.to_text() == "MANY.example.ORG."
    assert message.answer[0][0].target.to_text() == "Many.Example.org."


def test_records_of_the_root_take_no_more_than_was_reckoned_with() -> None:
    """A pointer to the question's name is longer than the root's name itself."""
    asked = parse_query(dns.message.make_query(".", "A", use_edns=False).to_wire())
    reply = Reply(0, 0, addresses(33, b"\0"))
    assert len(pack(asked, reply, datagram=True)) == reply_size(asked, reply) == 512
