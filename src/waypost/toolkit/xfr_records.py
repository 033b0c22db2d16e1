"""The records of an incoming zone transfer, put together: whole zones (RFC 5936) and differences (RFC 1995). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from waypost.toolkit.zonedata import serial_of
from waypost.wire import consts
from waypost.wire.record import Record


class TransferError(Exception):
    """A primary did not give the zone; the text says what it did instead."""


class _Shape(Enum):
    UNKNOWN = auto()
    WHOLE = auto()
    DIFFERENCES = auto()


class IncomingRecords:
    """Takes the answers of a transfer's messages until it is `complete`.

    `known` is the zone that the client has, as it was asked for by IXFR; empty for AXFR.
    """

    __slots__ = ("_adding", "_known", "_serial", "_shape", "_zone", "complete")

    def __init__(self, known: Iterable[Record] = ()) -> None:
        self._known = list(known)
        self._zone: dict[tuple[bytes, int, bytes], Record] = {}
        self._shape = _Shape.UNKNOWN
        self._serial: int | None = None
        self._adding = True
        self.complete = False

    def add(self, records: Iterable[Record]) -> None:
        """The answer section of the next message. Raises TransferError."""
        for record in records:
            if self.complete:
                raise TransferError("records after the end of the transfer")
            if self._serial is None:
                self._start(record)
            elif record.rtype == consts.TYPE_SOA:
                self._at_soa(record)
            else:
                self._apply(record)
        if self._shape is _Shape.UNKNOWN and self._known and self._serial == serial_of(self._known[0]):
            self.complete = True  # a lone SOA says that there is nothing new

    def records(self) -> list[Record] | None:
        """The zone's records, SOA first; None if the known zone is current. Only once complete."""
        return None if self._shape is _Shape.UNKNOWN else list(self._zone.values())

    def _start(self, record: Record) -> None:
        if record.rtype != consts.TYPE_SOA:
            raise TransferError("transfer does not begin with an SOA")
        self._serial = serial_of(record)
        self._keep(record)

    def _at_soa(self, record: Record) -> None:
        serial = serial_of(record)
        if self._shape is _Shape.UNKNOWN and self._known and serial == serial_of(self._known[0]) != self._serial:
            self._begin_differences()
        elif self._shape is not _Shape.DIFFERENCES:
            if serial != self._serial:
                raise TransferError("transfer holds two SOAs that differ")
            self._shape = _Shape.WHOLE
            self.complete = True
        elif not self._adding:
            self._adding = True
            self._keep(record)
        elif serial == self._serial:
            self.complete = True
        else:
            self._adding = False
            self._drop(record)

    def _begin_differences(self) -> None:
        self._shape = _Shape.DIFFERENCES
        self._zone.clear()
        for record in self._known[1:]:
            self._keep(record)
        self._adding = False

    def _apply(self, record: Record) -> None:
        if self._shape is _Shape.UNKNOWN:
            self._shape = _Shape.WHOLE
        if self._adding:
            self._keep(record)
        else:
            self._drop(record)

    def _keep(self, record: Record) -> None:
        self._zone[_key(record)] = record

    def _drop(self, record: Record) -> None:
        if self._zone.pop(_key(record), None) is None:
            raise TransferError("differences take away a record that is not there")


def _key(record: Record) -> tuple[bytes, int, bytes]:
    return record.owner.lower(), record.rtype, record.rdata
