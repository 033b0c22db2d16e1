"""Worker processes seen from outside: their ids, and which clients the kernel gives to which of them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import dns.message

from support.process import ServerProcess

CLIENTS = 32


def children(pid: int) -> list[int]:
    """The process ids of a process's children, oldest first."""
    found = [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    return sorted(found)


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ended(pids: list[int]) -> None:
    """Wait until none of these processes is left."""
    deadline = time.monotonic() + 5
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, f"still there: {list(filter(alive, pids))}"
        time.sleep(0.01)


@contextlib.contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Processes that do nothing meanwhile."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def answered(client: socket.socket, number: int, seconds: float) -> bool:
    """Whether the answer to a query with this id comes in time; others are passed over."""
    client.settimeout(seconds)
    with contextlib.suppress(TimeoutError):
        while True:
            if client.recv(4096)[:2] == number.to_bytes(2, "big"):
                return True
    return False


def send(client: socket.socket, number: int, name: str = "a.example.org.") -> None:
    client.send(dns.message.make_query(name, "A", id=number).to_wire())


class Clients:
    """Clients with ports of their own, told apart by the worker that gets their datagrams."""

    def __init__(self, port: int) -> None:
        self.all = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(CLIENTS)]
        for client in self.all:
            client.connect(("127.0.0.1", port))

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *exc: object) -> None:
        for client in self.all:
            client.close()

    def of(self, pid: int) -> tuple[list[socket.socket], list[socket.socket]]:
        """Those of a worker, and those of others."""
        with stopped(pid):
            for client in self.all:
                send(client, 1)
            deadline = time.monotonic() + 0.5
            others = [client for client in self.all if answered(client, 1, max(0.001, deadline - time.monotonic()))]
        own = [client for client in self.all if client not in others]
        assert all(answered(client, 1, 5) for client in own)
        return own, others

    def all_answered(self, number: int) -> bool:
        """Whether each of them gets an answer."""
        for client in self.all:
            send(client, number)
        return all(answered(client, number, 5) for client in self.all)


def workers(process: ServerProcess, number: int) -> list[int]:
    """The ids of so many workers, once all is started and there are so many."""
    process.says("Waypost-")
    process.until(lambda: len(children(process.pid)) == number, f"{number} workers")
    return children(process.pid)
