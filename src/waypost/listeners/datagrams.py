"""The datagrams of one socket, many at a time. An answer leaves from the address that its query came to."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, Protocol

from waypost.dispatch.request import Address
from waypost.listeners.batched import Batched
from waypost.listeners.sockets import WILDCARDS
from waypost.listeners.way import Control, Way, ask_for_destination, from_there, sent
from waypost.toolkit.mmsg import BATCH, CONTROL_SPACE, SLOT, system_calls


class Datagrams(Protocol):
    """Receives and sends for one socket. Numbers are places in the list that was received last."""

    def receive(self) -> list[bytes]:
        """The next datagrams, at most `BATCH`: fewer mean that no more are there. Raises OSError, after which there
        may be more."""
        ...

    def client(self, number: int) -> Address:
        """Who sent a datagram."""
        ...

    def way(self, number: int) -> Any:
        """How its answer is sent later: something for `send_later`."""
        ...

    def client_of(self, way: Any) -> Address:
        """Who sent the datagram that is answered this way."""
        ...

    def send(self, answers: Sequence[bytes | None]) -> int:
        """Send to each client its answer, if it has one already; gives how many could not be sent."""
        ...

    def send_later(self, answers: Sequence[tuple[bytes, Any]]) -> int:
        """Send answers, any number, to datagrams received earlier, by their ways; gives how many could not be sent."""
        ...


def datagrams(sock: socket.socket) -> Datagrams:
    """For a bound socket."""
    wildcard = sock.getsockname()[0] in WILDCARDS
    if wildcard:
        ask_for_destination(sock)
    calls = system_calls()
    return Batched(sock, wildcard, calls) if calls is not None else OneByOne(sock, wildcard)


class OneByOne:
    """Two system calls for each datagram, and one to see that no more are there."""

    __slots__ = ("_received", "_sock", "_wildcard")

    def __init__(self, sock: socket.socket, wildcard: bool) -> None:
        self._sock = sock
        self._wildcard = wildcard
        self._received: list[tuple[Address, Control]] = []

    def receive(self) -> list[bytes]:
        """The next datagrams."""
        packets: list[bytes] = []
        self._received = []
        while len(packets) < BATCH:
            try:
                packet, control, _flags, client = self._sock.recvmsg(SLOT, CONTROL_SPACE if self._wildcard else 0)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                if packets:  # the next call has it again, or it is over
                    break
                raise
            packets.append(packet)
            self._received.append((client, control))
        return packets

    def client(self, number: int) -> Address:
        """Who sent a datagram."""
        return self._received[number][0]

    def way(self, number: int) -> Way:
        """How its answer is sent later."""
        client, control = self._received[number]
        return Way(client, from_there(control))

    def client_of(self, way: Way) -> Address:
        """Who sent the datagram that is answered this way."""
        return way.client

    def send(self, answers: Sequence[bytes | None]) -> int:
        """Send what is there; gives how many could not be sent."""
        return self.send_later([(answer, self.way(n)) for n, answer in enumerate(answers) if answer is not None])

    def send_later(self, answers: Sequence[tuple[bytes, Way]]) -> int:
        """Send answers; gives how many could not be sent: no way to the client, or a full send buffer."""
        return sum(not sent(self._sock, answer, way) for answer, way in answers)
