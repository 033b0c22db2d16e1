"""Incoming transfers: how their records are put together, and a primary on the other end of a TCP connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from support.zones import lines, load
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.xfr_in import Primary
from waypost.toolkit.xfr_records import IncomingRecords, TransferError
from waypost.toolkit.zonedata import Zone
from waypost.wire import names
from waypost.wire.record import Record, address, soa

ORIGIN = names.from_text("example.org.")


def version(serial: int) -> Record:
    return soa(ORIGIN, 60, ORIGIN, ORIGIN, serial, (1, 2, 3, 4))


def host(label: str, last: int) -> Record:
    return address(names.from_text(f"{label}.example.org."), 60, bytes((192, 0, 2, last)))


A1, A2, B1 = host("a", 1), host("a", 2), host("b", 1)


def received(records: list[Record], known: list[Record] | None = None) -> list[Record] | None:
    """The same whether they come in one message or one by one."""
    at_once, one_by_one = IncomingRecords(known or []), IncomingRecords(known or [])
    at_once.add(records)
    assert at_once.complete
    for record in records:
        assert not one_by_one.complete
        one_by_one.add([record])
    assert one_by_one.complete
    assert at_once.records() == one_by_one.records()
    return at_once.records()


def test_whole_zone() -> None:
    assert received([version(2), A1, B1, version(2)]) == [version(2), A1, B1]
    assert received([version(2), version(2)]) == [version(2)]


def test_whole_zone_for_an_ixfr() -> None:
    incoming = IncomingRecords([version(1), A2])
    incoming.add([version(2), A1, version(2)])
    assert incoming.complete
    assert incoming.records() == [version(2), A1]


def test_nothing_new() -> None:
    assert received([version(1)], [version(1), A1]) is None


def test_differences() -> None:
    steps = [version(3), version(1), A1, version(2), A2, version(2), version(3), B1, version(3)]
    found = received(steps, [version(1), A1])
    assert found is not None
    assert sorted(found) == sorted([version(3), A2, B1])


@pytest.mark.parametrize(
    "records",
    [
        [A1],
        [version(2), A1, version(3)],
        [version(2), version(2), A1],
        [version(2), version(1), B1, version(2), A2, version(2)],
    ],
)
def test_nonsense(records: list[Record]) -> None:
    with pytest.raises(TransferError):
        IncomingRecords([version(1), A1]).add(records)


Answer = Callable[[dns.message.Message], list[dns.message.Message]]


@asynccontextmanager
async def primary(answer: Answer) -> AsyncIterator[Primary]:
    """A server that gives `answer` to one query a connection, and the client for it."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int.from_bytes(await reader.readexactly(2), "big")
        for reply in answer(dns.message.from_wire(await reader.readexactly(length))):
            wire = reply.to_wire()
            writer.write(len(wire).to_bytes(2, "big") + wire)
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with server:
        yield Primary(UpstreamAddress("127.0.0.1", server.sockets[0].getsockname()[1]), patience=5)


def reply_to(query: dns.message.Message, *records: str) -> dns.message.Message:
    reply = dns.message.make_response(query)
    reply.answer = [dns.rrset.from_text(*record.split(" ", 4)) for record in records]
    return reply


SOA1 = "example.org. 60 IN SOA ns.example.org. admin.example.org. 8 1 2 3 4"
WWW = "www.example.org. 60 IN A 192.0.2.1"


async def test_serial() -> None:
    async with primary(lambda query: [reply_to(query, SOA1)]) as client:
        assert await client.serial(ORIGIN) == 8


async def test_axfr_in_several_messages() -> None:
    async with primary(lambda query: [reply_to(query, SOA1, WWW), reply_to(query, SOA1)]) as client:
        zone = await client.zone(ORIGIN)
    assert zone is not None
    assert lines(zone.records())[1] == "www.example.org. 60 A 192.0.2.1"


async def test_ixfr_names_the_known_serial_and_falls_back_to_axfr(tmp_path: Path) -> None:
    seen: list[dns.message.Message] = []

    def answer(query: dns.message.Message) -> list[dns.message.Message]:
        seen.append(query)
        reply = reply_to(query, SOA1, WWW, SOA1)
        if len(seen) == 1:
            reply = dns.message.make_response(query)
            reply.set_rcode(dns.rcode.NOTIMP)
        return [reply]

    known: Zone = load(tmp_path, "")
    async with primary(answer) as client:
        zone = await client.zone(ORIGIN, known)
    assert zone is not None
    assert zone.serial == 8
    assert [query.question[0].rdtype.name for query in seen] == ["IXFR", "AXFR"]
    assert seen[0].authority[0][0].serial == 7


def with_other_id(query: dns.message.Message) -> dns.message.Message:
    reply = reply_to(query, SOA1, SOA1)
    reply.id ^= 1
    return reply


def without_qr(query: dns.message.Message) -> dns.message.Message:
    reply = reply_to(query, SOA1, SOA1)
    reply.flags &= ~dns.flags.QR
    return reply


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (lambda query: [], "connection closed"),
        (lambda query: [reply_to(query, SOA1, WWW)], "connection closed"),
        (lambda query: [reply_to(query, WWW)], "does not begin with an SOA"),
        (lambda query: [with_other_id(query)], "not a reply to the question"),
        (lambda query: [without_qr(query)], "not a reply to the question"),
        (
            lambda query: [reply_to(dns.message.make_query("example.net.", "AXFR", id=query.id), SOA1)],
            "another question",
        ),
    ],
)
async def test_primary_that_misbehaves(answer: Answer, fault: str) -> None:
    async with primary(answer) as client:
        with pytest.raises(TransferError, match=fault):
            await client.zone(ORIGIN)


async def test_primary_that_is_not_there() -> None:
    async with primary(lambda query: []) as client:
        pass
    with pytest.raises(TransferError):
        await client.zone(ORIGIN)
