"""Two listeners on one address: the one that ends leaves what comes to the other."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from waypost.listeners.sockets import hand_over, open_socket

TIMES = 40
KINDS = pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM], ids=["UDP", "TCP"])


def listening(kind: socket.SocketKind, port: int) -> socket.socket:
    return open_socket(socket.AF_INET, kind, "127.0.0.1", str(port))


def come(kind: socket.SocketKind, port: int) -> list[socket.socket]:
    """Clients, each from a port of its own."""
    clients = [socket.socket(socket.AF_INET, kind) for _ in range(TIMES)]
    for client in clients:
        client.connect(("127.0.0.1", port))
        if kind == socket.SOCK_DGRAM:
            client.send(b"x")
    return clients


def taken(kind: socket.SocketKind, sock: socket.socket) -> int:
    """How many have come to it."""
    number = 0
    with suppress(BlockingIOError):
        while True:
            if kind == socket.SOCK_DGRAM:
                sock.recv(10)
            else:
                sock.accept()[0].close()
            number += 1
    return number


@KINDS
def test_the_successor_gets_what_comes(kind: socket.SocketKind) -> None:
    with listening(kind, 0) as old:
        port = old.getsockname()[1]
        with listening(kind, port) as new:
            hand_over(old)
            clients = come(kind, port)
            assert (taken(kind, old), taken(kind, new)) == (0, TIMES)
            old.close()
            clients += come(kind, port)
            assert taken(kind, new) == TIMES
            with listening(kind, port) as newest:  # from now on both again, by chance
                clients += come(kind, port)
                assert taken(kind, newest) not in (0, TIMES)
                assert taken(kind, new) not in (0, TIMES)
    for client in clients:
        client.close()


@KINDS
def test_without_a_successor_nothing_changes(kind: socket.SocketKind) -> None:
    with listening(kind, 0) as old:
        hand_over(old)
        clients = come(kind, old.getsockname()[1])
        assert taken(kind, old) == TIMES
    for client in clients:
        client.close()
