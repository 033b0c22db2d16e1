"""Datagrams by one system call for many, and one by one: both do the same."""

from __future__ import annotations

import ctypes
import errno
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from waypost.listeners import datagrams as module
from waypost.listeners.batched import Batched
from waypost.listeners.datagrams import Datagrams, OneByOne, datagrams
from waypost.toolkit import mmsg
from waypost.toolkit.mmsg import BATCH

KINDS = [Batched, OneByOne]


class Ends:
    """A served socket on a host, and clients."""

    def __init__(self, host: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
        self.v6 = ":" in host
        self.host = host
        self.sock = self.opened(host)
        if kind is OneByOne:
            monkeypatch.setattr(module, "system_calls", lambda: None)
        self.datagrams: Datagrams = datagrams(self.sock)
        assert isinstance(self.datagrams, kind)
        self.port = self.sock.getsockname()[1]
        self.loopback = "::1" if self.v6 else "127.0.0.1"

    def opened(self, host: str) -> socket.socket:
        sock = socket.socket(socket.AF_INET6 if self.v6 else socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((host, 0))
        sock.setblocking(False)
        return sock

    def client(self) -> socket.socket:
        return self.opened(self.loopback)

    def send(self, client: socket.socket, *packets: bytes, to: str = "") -> None:
        for packet in packets:
            client.sendto(packet, (to or self.loopback, self.port))


@pytest.fixture(params=[(host, kind) for host in ("127.0.0.1", "0.0.0.0", "::1", "::") for kind in KINDS])
def ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    made = Ends(*request.param, monkeypatch)
    yield made
    made.sock.close()


def received(client: socket.socket) -> list[bytes]:
    packets = []
    with suppress(BlockingIOError):
        while True:
            packets.append(client.recv(65535))
    return packets


def test_the_system_calls_are_there_on_linux() -> None:
    assert mmsg.system_calls() is not None


@pytest.mark.parametrize("missing", ["recvmmsg", "sendmmsg"])
def test_calls_that_are_forbidden_are_not_used(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ctypes.CDLL(None, use_errno=True)

    class Library:
        def __getattr__(self, name: str) -> object:
            return self.forbidden if name == missing else getattr(real, name)

        class forbidden:  # noqa: N801  # stands for a function
            def __new__(cls, *args: object) -> int:  # type: ignore[misc]
                ctypes.set_errno(errno.EPERM)
                return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *args, **how: Library())
    assert mmsg.system_calls() is None


def test_nothing_is_there(ends: Ends) -> None:
    assert ends.datagrams.receive() == []


def test_each_client_gets_its_own_answer(ends: Ends) -> None:
    clients = [ends.client() for _ in range(5)]
    for n, client in enumerate(clients):
        ends.send(client, b"question %d" % n)
    packets = ends.datagrams.receive()
    assert sorted(packets) == [b"question %d" % n for n in range(5)]
    for number in range(5):
        host, port, *_ = ends.datagrams.client(number)
        assert (host, port) in {client.getsockname()[:2] for client in clients}
    answers = [b"answer to " + packet if packet != b"question 1" else None for packet in packets]
    assert ends.datagrams.send(answers) == 0
    for n, client in enumerate(clients):
        assert received(client) == ([] if n == 1 else [b"answer to question %d" % n])
        client.close()


def test_at_most_a_batch_and_the_rest_the_next_time(ends: Ends) -> None:
    client = ends.client()
    ends.send(client, *(b"%d" % n for n in range(BATCH + 3)))
    for expected in (range(BATCH), range(BATCH, BATCH + 3)):
        packets = ends.datagrams.receive()
        assert packets == [b"%d" % n for n in expected]
        assert ends.datagrams.send(packets) == 0
        assert received(client) == packets
    client.close()


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 60_000])
def test_answers_of_any_size(ends: Ends, size: int) -> None:
    client = ends.client()
    answer = bytes(n % 251 for n in range(size))
    answers = [b"first", answer, b"last"]
    for later in (False, True):
        ends.send(client, b"a", b"b", b"c")
        ends.datagrams.receive()
        if later:
            assert ends.datagrams.send_later([(each, ends.datagrams.way(n)) for n, each in enumerate(answers)]) == 0
        else:
            assert ends.datagrams.send(answers) == 0
        assert sorted(received(client)) == sorted(answers)
    client.close()


def test_any_number_of_later_answers(ends: Ends) -> None:
    clients = [ends.client() for _ in range(3)]
    ways = []
    for client in clients:
        ends.send(client, b"a")
        ends.datagrams.receive()
        ways.append(ends.datagrams.way(0))
    answers = [(b"%d" % n, ways[n % 3]) for n in range(3 * BATCH)]
    assert ends.datagrams.send_later(answers) == 0
    for first, client in enumerate(clients):
        assert received(client) == [b"%d" % n for n in range(first, 3 * BATCH, 3)]
        client.close()


@pytest.mark.parametrize("size", [0, 1, 4096])
def test_queries_of_any_size_up_to_the_largest(ends: Ends, size: int) -> None:
    client = ends.client()
    packet = bytes(n % 251 for n in range(size))
    ends.send(client, packet, packet + b"more" if size == 4096 else packet)
    assert ends.datagrams.receive() == [packet, packet]
    client.close()


def test_answers_that_cannot_be_sent_are_counted_and_the_others_leave(ends: Ends) -> None:
    client = ends.client()
    ends.send(client, *(b"%d" % n for n in range(4)))
    ends.datagrams.receive()
    too_large = b"x" * 65_536
    assert ends.datagrams.send([b"a", too_large, b"b", too_large]) == 2
    assert received(client) == [b"a", b"b"]
    client.close()


def test_an_error_of_the_socket_is_told(ends: Ends) -> None:
    ends.sock.close()
    with pytest.raises(OSError) as raised:
        ends.datagrams.receive()
    assert raised.value.errno == errno.EBADF
    ends.sock = ends.client()


def test_a_failing_system_call_costs_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Ends("127.0.0.1", Batched, monkeypatch)
    client = ends.client()
    ends.send(client, b"1", b"2", b"3")
    ends.datagrams.receive()
    outbox, calls = ends.datagrams._batch, []  # type: ignore[attr-defined]
    real = outbox._calls

    def failing(fd: int, headers: int, count: int, flags: int) -> int:
        calls.append(count)
        return -1 if count == 2 else int(real.send(fd, headers, 1, flags))

    outbox._calls = real._replace(send=failing)
    assert ends.datagrams.send([b"1", b"2", b"3"]) == 1
    assert calls == [3, 2, 1]
    assert received(client) == [b"1", b"3"]
    for sock in (client, ends.sock):
        sock.close()


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_wildcard_socket_answers_leave_from_the_address_asked(
    kind: type, later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = Ends("0.0.0.0", kind, monkeypatch)
    client = ends.client()
    asked = [f"127.0.0.{n}" for n in (3, 1, 2)]
    for host in asked:
        ends.send(client, host.encode(), to=host)
    packets = ends.datagrams.receive()
    if later:
        for number, packet in enumerate(packets):
            assert ends.datagrams.send_later([(packet, ends.datagrams.way(number))]) == 0
    else:
        assert ends.datagrams.send([None, *packets[1:]]) == 0
        assert ends.datagrams.send_later([(packets[0], ends.datagrams.way(0))]) == 0
    got = [client.recvfrom(100) for _ in asked]
    assert all(packet.decode() == peer[0] for packet, peer in got)
    for sock in (client, ends.sock):
        sock.close()
