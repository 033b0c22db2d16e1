"""Up to 32 datagrams a system call, each answered to the client and from the address that its query came to."""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from waypost.dispatch.request import Address
from waypost.toolkit.mmsg import (
    BATCH,
    CONTROL,
    CONTROL_LENGTH,
    CONTROL_SPACE,
    HEADER,
    NAME,
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
# Where `struct in_pktinfo` and `struct in6_pktinfo` have the interface's index, behind a `struct cmsghdr`: in bytes.
_V4_INDEX = 16
_V6_ADDRESS = 16
_V6_INDEX = _V6_ADDRESS + 16
_LINK_LOCAL = int.from_bytes(b"\xfe\x80", "little")


class RawWay(NamedTuple):
    """The client's socket address and, on a wildcard socket, the control messages of its query: both as they came."""

    name: bytes
    control: bytes


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
    """The datagrams of one socket. Answers at once are sent to where the received addresses stand, later ones to copies
    of them."""

    __slots__ = ("_came", "_format", "_go", "_inbox", "_late", "_outbox", "_sock", "_v6")

    def __init__(self, sock: socket.socket, wildcard: bool, calls: Calls) -> None:
        self._sock = sock
        self._v6 = sock.family == socket.AF_INET6
        self._format = _V6_NAME if self._v6 else _V4_NAME
        self._came, self._go = _Addresses(wildcard), _Addresses(wildcard)
        size = self._format.size
        self._inbox = Batch(calls, size, self._came.names_at, self._came.controls_at)
        self._outbox = Batch(calls, size, self._came.names_at, self._came.controls_at)
        self._late = Batch(calls, size, self._go.names_at, self._go.controls_at)

    def receive(self) -> list[bytes]:
        """The next datagrams."""
        if self._came.controls is not None:
            fields = self._inbox.fields
            for at in range(CONTROL_LENGTH, BATCH * HEADER, HEADER):
                fields[at] = CONTROL_SPACE
        return self._inbox.receive(self._sock.fileno())

    def client(self, number: int) -> Address:
        """Who sent a datagram."""
        return self._address_in(self._came.names, number * NAME_SPACE)

    def way(self, number: int) -> RawWay:
        """How its answer is sent later."""
        at = number * NAME_SPACE
        name = bytes(self._came.names[at : at + self._format.size])
        controls = self._came.controls
        if controls is None:
            return RawWay(name, b"")
        self._from_any_interface(controls, number)
        at = number * CONTROL_SPACE
        return RawWay(name, bytes(controls[at : at + self._inbox.fields[number * HEADER + CONTROL_LENGTH]]))

    def send(self, answers: Sequence[bytes | None]) -> int:
        """Send what is there; gives how many could not be sent."""
        outbox, fields, received = self._outbox, self._outbox.fields, self._inbox.fields
        controls = self._came.controls
        large: list[tuple[bytes, RawWay]] = []
        count = 0
        for number, answer in enumerate(answers):
            if answer is None:
                continue
            if len(answer) > SLOT:
                large.append((answer, self.way(number)))
                continue
            outbox.put(count, answer)
            to, of = count * HEADER, number * HEADER
            fields[to + NAME] = received[of + NAME]
            if controls is not None:
                self._from_any_interface(controls, number)
                fields[to + CONTROL] = received[of + CONTROL]
                fields[to + CONTROL_LENGTH] = received[of + CONTROL_LENGTH]
            count += 1
        return self._leave(outbox, count) + self._alone(large)

    def send_later(self, answers: Sequence[tuple[bytes, RawWay]]) -> int:
        """Send answers, any number of them, to datagrams that came earlier; gives how many could not be sent."""
        large = [pair for pair in answers if len(pair[0]) > SLOT]
        small = [pair for pair in answers if len(pair[0]) <= SLOT] if large else answers
        lost = self._alone(large)
        for start in range(0, len(small), BATCH):
            count = 0
            for answer, way in small[start : start + BATCH]:
                self._late.put(count, answer)
                self._address(count, way)
                count += 1
            lost += self._leave(self._late, count)
        return lost

    def _address(self, place: int, way: RawWay) -> None:
        at = place * NAME_SPACE
        self._go.names[at : at + len(way.name)] = way.name
        if self._go.controls is not None:
            at, size = place * CONTROL_SPACE, len(way.control)
            self._go.controls[at : at + size] = way.control
            self._late.fields[place * HEADER + CONTROL_LENGTH] = size

    def _from_any_interface(self, controls: memoryview, number: int) -> None:
        """Let an answer leave from its query's address by whatever interface, unless the address is of one alone."""
        at = number * CONTROL_SPACE
        if not self._v6:
            controls[at + _V4_INDEX : at + _V4_INDEX + 4] = b"\0\0\0\0"
        elif controls[at + _V6_ADDRESS] | controls[at + _V6_ADDRESS + 1] << 8 != _LINK_LOCAL:
            controls[at + _V6_INDEX : at + _V6_INDEX + 4] = b"\0\0\0\0"

    def _leave(self, batch: Batch, count: int) -> int:
        """Send places 0 to `count`; one that cannot be sent is left out, for nobody is to tell. Gives how many."""
        gone = lost = 0
        fd = self._sock.fileno()
        while gone < count:
            try:
                gone += batch.send(fd, gone, count)
            except OSError:
                gone += 1
                lost += 1
        return lost

    def _alone(self, answers: Iterable[tuple[bytes, RawWay]]) -> int:
        """Send answers that no slot has room for."""
        lost = 0
        for answer, way in answers:
            lost += 1
            with suppress(OSError):
                self._sock.sendmsg((answer,), _control_of(way.control), 0, self._address_in(way.name, 0))
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
