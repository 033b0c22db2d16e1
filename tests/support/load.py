"""Clients that ask without pause and count: every question must be answered."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import dns.message

_PATIENCE = 5.0


@dataclass
class Tally:
    """What one client asked and what it got."""

    asked: int = 0
    answered: int = 0
    failures: list[str] = field(default_factory=list)


class Load:
    """One thread for each way to ask; `with` stops them. `tallies` is by name of the way."""

    def __init__(self, port: int) -> None:
        ways: dict[str, Callable[[Tally], None]] = {
            "udp": self._udp,
            "tcp, one connection": self._tcp,
            "tcp, one connection a query": self._tcp_each,
        }
        self.tallies = {name: Tally() for name in ways}
        self._address = ("127.0.0.1", port)
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._guard, args=(way, self.tallies[name]), daemon=True)
            for name, way in ways.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(_PATIENCE)

    def check(self, least: int) -> None:
        """Every way asked at least so often, and every question was answered."""
        for name, tally in self.tallies.items():
            assert not tally.failures, f"{name}: {tally}"
            assert tally.answered == tally.asked >= least, f"{name}: {tally}"

    def _guard(self, way: Callable[[Tally], None], tally: Tally) -> None:
        try:
            way(tally)
        except (OSError, EOFError) as exc:
            tally.failures.append(repr(exc))

    def _udp(self, tally: Tally) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(_PATIENCE)
            sock.connect(self._address)
            while not self._ended.is_set():
                wire = make_query(tally)
                sock.send(wire)
                judge(tally, wire, sock.recv(4096))

    def _tcp(self, tally: Tally) -> None:
        with socket.create_connection(self._address, _PATIENCE) as sock:
            while not self._ended.is_set():
                exchange(sock, tally)

    def _tcp_each(self, tally: Tally) -> None:
        while not self._ended.is_set():
            with socket.create_connection(self._address, _PATIENCE) as sock:
                exchange(sock, tally)


def make_query(tally: Tally) -> bytes:
    """The next question, counted."""
    tally.asked += 1
    return dns.message.make_query(f"n{tally.asked}.example.org.", "A").to_wire()


def judge(tally: Tally, query: bytes, answer: bytes) -> None:
    """Count the answer if it is one to this question, without error."""
    if answer[:2] == query[:2] and answer[3] & 0x0F == 0:
        tally.answered += 1
    else:
        tally.failures.append(answer.hex())


def exchange(sock: socket.socket, tally: Tally) -> None:
    """One question and its answer over a connection."""
    wire = make_query(tally)
    sock.sendall(framed(wire))
    judge(tally, wire, read_message(sock))


def framed(wire: bytes) -> bytes:
    return struct.pack("!H", len(wire)) + wire


def read_message(sock: socket.socket) -> bytes:
    """One message from a connection. Raises EOFError if it ends before."""
    (size,) = struct.unpack("!H", read_exactly(sock, 2))
    return read_exactly(sock, size)


def read_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError(f"connection ended after {len(data)} of {size} bytes")
        data += more
    return data
