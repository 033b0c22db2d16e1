"""A zone's primary asked over TCP: its serial, and the zone by IXFR (RFC 1995) or AXFR (RFC 5936)."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from secrets import randbelow

from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.xfr_records import IncomingRecords, TransferError
from waypost.toolkit.zonedata import Zone, ZoneError, make_zone, serial_of
from waypost.wire import consts
from waypost.wire.errors import FormErr
from waypost.wire.message import Message, decode, make_query
from waypost.wire.record import Record

_LENGTH = struct.Struct("!H")
_FIXED = struct.Struct("!HHIH")
_NSCOUNT = slice(8, 10)
# Seconds to wait for a connection and for each message.
_PATIENCE = 10.0


class Primary:
    """A server to have zones from. Every method raises TransferError if it does not give what it should."""

    __slots__ = ("_patience", "address")

    def __init__(self, address: UpstreamAddress, patience: float = _PATIENCE) -> None:
        self.address = address
        self._patience = patience

    def __str__(self) -> str:
        return str(self.address)

    async def serial(self, origin: bytes) -> int:
        """The serial of its SOA for the zone `origin`."""
        async with self._asked(origin, consts.TYPE_SOA) as receive:
            for record in (await receive()).answer:
                if record.rtype == consts.TYPE_SOA and record.owner.lower() == origin:
                    return serial_of(record)
        raise TransferError("no SOA in the answer")

    async def zone(self, origin: bytes, known: Zone | None = None) -> Zone | None:
        """The zone as it is there; None if `known` is current. Differences are asked for if there is a known one."""
        if known is not None:
            with suppress(TransferError):
                return await self._transfer(origin, known)
        return await self._transfer(origin, None)

    async def _transfer(self, origin: bytes, known: Zone | None) -> Zone | None:
        incoming = IncomingRecords(known.records() if known is not None else ())
        qtype = consts.TYPE_AXFR if known is None else consts.TYPE_IXFR
        async with self._asked(origin, qtype, known.soa if known is not None else None) as receive:
            while not incoming.complete:
                incoming.add((await receive()).answer)
        records = incoming.records()
        if records is None:
            return None
        try:
            return await asyncio.to_thread(make_zone, origin, records)
        except ZoneError as exc:
            raise TransferError(f"zone {exc}") from exc

    @asynccontextmanager
    async def _asked(
        self, origin: bytes, qtype: int, soa: Record | None = None
    ) -> AsyncIterator[Callable[[], Awaitable[Message]]]:
        """A connection with one question sent; what is given receives the next message of the answer."""
        host = f"{self.address.ip}%{self.address.scope}" if self.address.scope else self.address.ip
        try:
            async with asyncio.timeout(self._patience):
                reader, writer = await asyncio.open_connection(host, self.address.port)
        except (OSError, TimeoutError) as exc:
            raise TransferError(_reason(exc)) from exc
        message_id = randbelow(0x10000)
        try:
            query = _query(message_id, origin, qtype, soa)
            writer.write(_LENGTH.pack(len(query)) + query)
            yield partial(self._receive, reader, message_id, origin, qtype)
        finally:
            writer.transport.abort()

    async def _receive(self, reader: asyncio.StreamReader, message_id: int, origin: bytes, qtype: int) -> Message:
        try:
            async with asyncio.timeout(self._patience):
                (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                message = decode(await reader.readexactly(length))
        except (OSError, TimeoutError, EOFError, FormErr) as exc:
            raise TransferError(_reason(exc)) from exc
        if message.id != message_id or not message.flags & consts.QR or message.flags & consts.OPCODE_MASK:
            raise TransferError("not a reply to the question")
        if message.qdcount and (message.qname.lower(), message.qtype) != (origin, qtype):
            raise TransferError("a reply to another question")
        if message.rcode != consts.NOERROR:
            raise TransferError(f"rcode was {consts.rcode_text(message.rcode)}")
        return message


def _query(message_id: int, origin: bytes, qtype: int, soa: Record | None) -> bytes:
    """The SOA of the known zone goes into the authority section of an IXFR query (RFC 1995 section 3)."""
    wire = make_query(message_id, 0, origin, qtype)
    if soa is None:
        return wire
    header = bytearray(wire)
    header[_NSCOUNT] = b"\x00\x01"
    fixed = _FIXED.pack(soa.rtype, soa.rclass, soa.ttl, len(soa.rdata))
    return bytes(header) + soa.owner + fixed + soa.rdata


def _reason(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "timed out"
    if isinstance(exc, EOFError):
        return "connection closed"
    return str(exc) or type(exc).__name__
