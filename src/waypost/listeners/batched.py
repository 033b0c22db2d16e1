"""Up to 64 datagrams a system call, each answered to the client and from the address that its query came to."""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress

from waypost.dispatch.request import Address
from waypost.toolkit.mmsg import (
    BATCH,
    CONTROL_LENGTH,
    CONTROL_SPACE,
    HEADER,
    NAME_SPACE,
    SLOT,
    Batch,
    Calls,
)

# `struct sockaddr_in` and `sockaddr_in6` behind the family; ports are in network order, the scope is not.
_V4_NAME = struct.Struct("!2xH4s8x")
_V6_NAME = struct.Struct("!2xHI16s4s")
# `struct cmsghdr`: length, level and type.
_CONTROL_HEADER = struct.Struct("=Qii")
# Where `struct in_pktinfo` (in words) and `struct in6_pktinfo` (in bytes) have the interface's index, behind a
# `struct cmsghdr`.
_V4_INDEX = 16 // 4
_V6_ADDRESS = 16
_V6_INDEX = _V6_ADDRESS + 16
_NO_INTERFACE = array("I", [0] * BATCH)
# So many clients of late: a resolver asks several times from one port.
_MAX_KNOWN = 1024
_LINK_LOCAL = b"\xfe\x80"


RawWay = tuple[bytes, bytes]
"""The client's socket address and, on a wildcard socket, the control messages of its query: both as they came."""


class _Addresses:
    """A socket address and control messages for each datagram of a batch, as arrays."""

    __slots__ = ("controls", "controls_at", "names", "names_at")

    def __init__(self, wildcard: bool) -> None:
        names = ctypes.create_string_buffer(BATCH * NAME_SPACE)
        self.names = memoryview(names).cast("B")
        self.names_at = ctypes.addressof(names)
        self.controls: memoryview | None = None
        self.controls_at = 0
        if wildcard:
            controls = ctypes.create_string_buffer(BATCH * CONTROL_SPACE)
            self.controls = memoryview(controls).cast("B")
            self.controls_at = ctypes.addressof(controls)


class Batched:
    """The datagrams of one socket. Answers at once leave from the places of their queries, later ones by copies of
    the addresses there."""

    __slots__ = ("_batch", "_came", "_format", "_go", "_known", "_late", "_sock", "_v6")

    def __init__(self, sock: socket.socket, wildcard: bool, calls: Calls) -> None:
        self._sock = sock
        self._v6 = sock.family == socket.AF_INET6
        self._format = _V6_NAME if self._v6 else _V4_NAME
        self._known: dict[bytes, Address] = {}
        self._came, self._go = _Addresses(wildcard), _Addresses(wildcard)
        size = self._format.size
        self._batch = Batch(calls, size, self._came.names_at, self._came.controls_at)
        self._late = Batch(calls, size, self._go.names_at, self._go.controls_at)

    def receive(self) -> list[bytes]:
        """The next datagrams."""
        packets = self._batch.receive(self._sock.fileno())
        controls = self._came.controls
        if controls is not None:
            self._from_any_interface(controls, len(packets))
        return packets

    def client(self, number: int) -> Address:
        """Who sent a datagram."""
        at = number * NAME_SPACE
        return self._client(bytes(self._came.names[at : at + self._format.size]))

    def client_of(self, way: RawWay) -> Address:
        """Who sent the datagram that is answered this way."""
        return self._client(way[0])

    def _client(self, name: bytes) -> Address:
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[name] = self._address_in(name, 0)
        return known

    def way(self, number: int) -> RawWay:
        """How its answer is sent later."""
        at = number * NAME_SPACE
        name = bytes(self._came.names[at : at + self._format.size])
        controls = self._came.controls
        if controls is None:
            return name, b""
        at = number * CONTROL_SPACE
        return name, bytes(controls[at : at + self._batch.fields[number * HEADER + CONTROL_LENGTH]])

    def send(self, answers: Sequence[bytes | None]) -> int:
        """Send what is there; gives how many could not be sent."""
        batch = self._batch
        lost = first = 0
        large: list[tuple[bytes, RawWay]] = []
        for gap in batch.put(answers):
            lost += self._leave(batch, first, gap)
            first = gap + 1
            if (answer := answers[gap]) is not None:
                large.append((answer, self.way(gap)))
        return lost + self._leave(batch, first, len(answers)) + self._alone(large)

    def send_later(self, answers: Sequence[tuple[bytes, RawWay]]) -> int:
        """Send answers, any number of them, to datagrams that came earlier; gives how many could not be sent."""
        large = [pair for pair in answers if len(pair[0]) > SLOT]
        small = [pair for pair in answers if len(pair[0]) <= SLOT] if large else answers
        lost = self._alone(large)
        for start in range(0, len(small), BATCH):
            some = small[start : start + BATCH]
            self._late.put(answer for answer, _ in some)
            for place, (_, way) in enumerate(some):
                self._address(place, way)
            lost += self._leave(self._late, 0, len(some))
        return lost

    def _address(self, place: int, way: RawWay) -> None:
        name, control = way
        at = place * NAME_SPACE
        self._go.names[at : at + len(name)] = name
        if self._go.controls is not None:
            at, size = place * CONTROL_SPACE, len(control)
            self._go.controls[at : at + size] = control
            self._late.fields[place * HEADER + CONTROL_LENGTH] = size

    def _from_any_interface(self, controls: memoryview, count: int) -> None:
        """Let answers leave from their queries' addresses by whatever interface, unless the address is of one alone."""
        if not self._v6:
            controls.cast("I")[_V4_INDEX :: CONTROL_SPACE // 4] = _NO_INTERFACE
            return
        for start in range(0, count * CONTROL_SPACE, CONTROL_SPACE):
            at = start + _V6_ADDRESS
            if controls[at : at + 2] != _LINK_LOCAL:
                at = start + _V6_INDEX
                controls[at : at + 4] = b"\0\0\0\0"

    def _leave(self, batch: Batch, first: int, end: int) -> int:
        """Send some places; one that cannot be sent is left out, for nobody is to tell. Gives how many."""
        lost = 0
        while first < end:
            try:
                first += batch.send(self._sock.fileno(), first, end)
            except OSError:
                first += 1
                lost += 1
        return lost

    def _alone(self, answers: Iterable[tuple[bytes, RawWay]]) -> int:
        """Send answers that no slot has room for."""
        lost = 0
        for answer, (name, control) in answers:
            lost += 1
            with suppress(OSError):
                self._sock.sendmsg((answer,), _control_of(control), 0, self._address_in(name, 0))
                lost -= 1
        return lost

    def _address_in(self, names: bytes | memoryview, at: int) -> Address:
        if self._v6:
            port, flow, packed, scope = _V6_NAME.unpack_from(names, at)
            return socket.inet_ntop(socket.AF_INET6, packed), port, flow, int.from_bytes(scope, sys.byteorder)
        port, packed = _V4_NAME.unpack_from(names, at)
        return socket.inet_ntop(socket.AF_INET, packed), port


def _control_of(raw: bytes) -> list[tuple[int, int, bytes]]:
    """The one control message as `socket.sendmsg` takes it."""
    if not raw:
        return []
    length, level, kind = _CONTROL_HEADER.unpack_from(raw)
    return [(level, kind, raw[_CONTROL_HEADER.size : length])]
