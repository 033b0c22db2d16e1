"""Zone transfers as a client reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site
from waypost.dispatch.handler import settled
from waypost.plugins.transfer import setup
from waypost.wire import consts, names
from waypost.wire.fit import MAX_STREAM_SIZE, pack
from waypost.wire.record import Record, address, soa, txt
from waypost.wire.reply import Reply, copied_flags, failure

ZONE = names.from_text("example.org.")
SERIAL = 2024
SOA = soa(ZONE, 60, ZONE, ZONE, SERIAL, (1, 2, 3, 4))
WWW = b"\x03www" + ZONE


class Source(FakeNext):
    """A plugin with a zone; remembers what it was asked for."""

    def __init__(self, name: str, zone: bytes, *records: Record) -> None:
        super().__init__(failure(consts.REFUSED), name=name)
        self.zone = zone
        self.records = records
        self.asked: list[tuple[bytes, int | None]] = []

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        self.asked.append((zone, serial))
        if zone != self.zone:
            return None
        return (SOA,) if serial == SERIAL else iter((SOA, *self.records, SOA))


@dataclass
class Served:
    """A block with transfer and sources behind it."""

    text: str
    sources: list[Source]
    process: FakeProcess = field(default_factory=FakeProcess)

    def __post_init__(self) -> None:
        site = make_site("example.org", process=self.process)
        site.log = site.log.for_plugin("transfer")
        setup(make_directive(self.text), site)
        for source in self.sources:
            site.add(source)
        site.link()
        self.site = site

    async def ask(self, name: str = "example.org.", qtype: str = "AXFR", **how: Any) -> list[dns.message.Message]:
        """The messages of the answer; the server's own where no plugin wrote one."""
        assert self.site.chain is not None
        request = make_request(name, qtype, site=self.site, **{"datagram": False, **how})
        reply = await settled(self.site.chain.serve(request))
        if not reply.written:
            reply = Reply(reply.rcode, copied_flags(request.query))
        wires = [pack(request.query, part, datagram=False) for part in (reply, *reply.more)]
        assert all(len(wire) <= MAX_STREAM_SIZE for wire in wires)
        return [dns.message.from_wire(wire, one_rr_per_rrset=True) for wire in wires]


def served(text: str = "transfer {\n to *\n}", *records: Record) -> Served:
    return Served(text, [Source("file", ZONE, *(records or (address(WWW, 60, b"\x01\x02\x03\x04"),)))])


def ixfr(serial: int | None) -> bytes:
    message = dns.message.make_query("example.org.", "IXFR")
    if serial is not None:
        message.authority.append(dns.rrset.from_text("example.org.", 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    return message.to_wire()


def rcode(messages: list[dns.message.Message]) -> str:
    (message,) = messages
    assert message.answer == []
    return dns.rcode.to_text(message.rcode())


def texts(message: dns.message.Message) -> list[str]:
    return [rrset.to_text().removeprefix("example.org. 60 IN ") for rrset in message.answer]


APEX = f"SOA example.org. example.org. {SERIAL} 1 2 3 4"


@pytest.mark.parametrize("name", ["example.org.", "Example.ORG."])
async def test_a_whole_zone(name: str) -> None:
    """B112: in any letter case."""
    block = served()
    (message,) = await block.ask(name)
    assert texts(message) == [APEX, "www.example.org. 60 IN A 1.2.3.4", APEX]
    assert message.flags == dns.flags.QR | dns.flags.AA | dns.flags.RD
    assert block.process.lines == [
        f'[INFO] plugin/transfer: Outgoing transfer of 3 records of zone "{name}" to 192.0.2.9 for {SERIAL} SOA serial'
    ]


async def test_the_first_plugin_with_the_zone_gives_it() -> None:
    other = Source("auto", b"\x01x\x00")
    first = Source("file", ZONE)
    second = Source("secondary", ZONE)
    await Served("transfer {\n to *\n}", [other, first, second]).ask()
    assert (other.asked, first.asked, second.asked) == ([(ZONE, None)], [(ZONE, None)], [])


async def test_names_below_a_zone_go_to_the_next_plugin() -> None:
    block = served()
    assert rcode(await block.ask("www.example.org.")) == "REFUSED"
    assert len(block.sources[0].seen) == 1


@pytest.mark.parametrize("qtype", ["AXFR", "IXFR"])
async def test_never_over_datagrams(qtype: str) -> None:
    """B117, S18."""
    block = served()
    assert rcode(await block.ask(qtype=qtype, datagram=True)) == "REFUSED"
    assert rcode(await block.ask("elsewhere.net.", qtype=qtype, datagram=True)) == "REFUSED"
    assert block.sources[0].asked == []


async def test_strangers_are_refused() -> None:
    block = served("transfer {\n to 192.0.2.1\n}")
    assert rcode(await block.ask()) == "REFUSED"
    assert block.sources[0].asked == []
    (message,) = await block.ask(client=("192.0.2.1", 4000))
    assert len(message.answer) == 3


async def test_a_strict_rule_for_a_child_is_not_undone_by_a_parents() -> None:
    """S14: the rule was chosen by the order of the zones' texts."""
    child = names.from_text("a.example.org.")
    block = Served(
        "transfer example.org {\n to *\n}\ntransfer a.example.org {\n to 192.0.2.1\n}", [Source("file", child)]
    )
    assert rcode(await block.ask("a.example.org.")) == "REFUSED"
    assert block.sources[0].asked == []


async def test_zones_without_a_rule_and_other_queries_go_to_the_next_plugin() -> None:
    block = served()
    await block.ask("example.net.")
    await block.ask(qtype="A")
    assert len(block.sources[0].seen) == 2
    assert block.sources[0].asked == []


async def test_up_to_date() -> None:
    block = served()
    (message,) = await block.ask(wire=ixfr(SERIAL))
    assert texts(message) == [APEX]
    assert message.flags == dns.flags.QR | dns.flags.RD
    zone = 'incremental transfer for up to date zone "example.org."'
    assert block.process.lines == [
        f"[INFO] plugin/transfer: Outgoing noop, {zone} to 192.0.2.9 for {SERIAL} SOA serial"
    ]


@pytest.mark.parametrize("serial", [0, SERIAL - 1, SERIAL + 1])
async def test_not_up_to_date(serial: int) -> None:
    block = served()
    (message,) = await block.ask(wire=ixfr(serial))
    assert len(message.answer) == 3
    assert block.sources[0].asked == [(ZONE, serial)]


async def test_ixfr_without_a_serial() -> None:
    assert rcode(await served().ask(wire=ixfr(None))) == "SERVFAIL"
    wire = dns.message.make_query("example.org.", "IXFR").to_wire()
    with_ns = wire[:8] + b"\x00\x01" + wire[10:] + b"\x00\x00\x02\x00\x01\x00\x00\x00\x00\x00\x01\x00"
    assert rcode(await served().ask(wire=with_ns)) == "SERVFAIL"
    cut_short = wire[:8] + b"\x00\x01" + wire[10:] + b"\x00\x00\x06\x00\x01\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"
    assert rcode(await served().ask(wire=cut_short)) == "SERVFAIL"


@pytest.mark.parametrize(("count", "strings"), [(600, 1), (70, 16), (3, 1)])
async def test_messages_stay_below_their_limit(count: int, strings: int) -> None:
    """B113: many records, and long ones."""
    records = [txt(b"\x04%04d" % n + ZONE, 60, *[b"x" * 250] * strings) for n in range(count)]
    messages = await served("transfer {\n to *\n}", *records).ask(bufsize=1232)
    found = [rrset for message in messages for rrset in message.answer]
    assert len(found) == count + 2
    assert found[0].rdtype == found[-1].rdtype == consts.TYPE_SOA
    assert not any(message.flags & dns.flags.TC for message in messages)
    assert all(message.flags & dns.flags.AA for message in messages)
    sizes = [len(message.to_wire(max_size=MAX_STREAM_SIZE)) for message in messages]
    assert len(sizes) == 1 + sum(len(record.owner) + 10 + len(record.rdata) for record in records) // 63_000


async def test_a_clients_long_options_leave_room() -> None:
    options = (dns.edns.GenericOption(12, bytes(40_000)),)
    message = dns.message.make_query("example.org.", "AXFR", use_edns=0, options=list(options))
    records = [txt(b"\x04%04d" % n + ZONE, 60, *[b"x" * 250] * 16) for n in range(40)]
    messages = await served("transfer {\n to *\n}", *records).ask(wire=message.to_wire(max_size=MAX_STREAM_SIZE))
    assert sum(len(part.answer) for part in messages) == 42
    assert not any(part.flags & dns.flags.TC for part in messages)


async def test_other_queries_have_their_turn() -> None:
    records = [txt(b"\x04%04d" % n + ZONE, 60, *[b"x" * 250] * 16) for n in range(70)]
    block = served("transfer {\n to *\n}", *records)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    messages = await block.ask()
    task.cancel()
    assert turns >= len(messages) - 1 > 3


async def test_a_source_that_gives_nothing_fails() -> None:
    class Empty(Source):
        def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
            return ()

    assert rcode(await Served("transfer {\n to *\n}", [Empty("file", ZONE)]).ask()) == "SERVFAIL"
