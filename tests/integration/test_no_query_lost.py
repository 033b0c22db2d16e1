"""Reload and stop under load, counted from the client's side: no query is lost by either."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import dns.message
import pytest

from support.load import Load, Tally, framed, judge, read_message
from support.process import ServerProcess, ask, free_port, is_listening, serving

RELOADS = 20
DATAGRAMS = 400
CONNECTIONS = 40
PIPELINED = 3
SLOW = ".:{port} {{\n    erratic {{\n        drop 0\n        delay 1 300ms\n    }}\n}}\n"
FAST = ".:{port} {{\n    erratic {{\n        drop 0\n    }}\n}}\n"
FORWARDED = ".:{port} {{\n    forward . 127.0.0.1:{upstream}\n}}\n"


@pytest.fixture
def port() -> int:
    return free_port()


class Burst:
    """Questions sent at one moment, by UDP, by old connections and by new ones; the answers are read later."""

    def __init__(self, port: int) -> None:
        self._address = ("127.0.0.1", port)
        self._udp = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
        self._old = [socket.create_connection(self._address) for _ in range(CONNECTIONS)]
        self._new: list[socket.socket] = []
        self.tally = Tally()

    def send(self) -> None:
        for sock in self._udp:
            sock.settimeout(5)
            sock.connect(self._address)
            for i in range(DATAGRAMS // len(self._udp)):
                sock.send(self._query(i))
        self._new = [socket.create_connection(self._address) for _ in range(CONNECTIONS)]
        for sock in (*self._old, *self._new):
            sock.settimeout(5)
            sock.sendall(b"".join(framed(self._query(i)) for i in range(PIPELINED)))

    def receive(self) -> None:
        for sock in self._udp:
            with contextlib.suppress(TimeoutError, ConnectionError):
                for _ in range(DATAGRAMS // len(self._udp)):
                    answer = sock.recv(4096)
                    judge(self.tally, answer[:2], answer)
        for sock in (*self._old, *self._new):
            try:
                for i in range(PIPELINED):
                    judge(self.tally, i.to_bytes(2, "big"), read_message(sock))
                assert sock.recv(1) == b""
            except (OSError, EOFError) as exc:
                self.tally.failures.append(repr(exc))
        for sock in (*self._udp, *self._old, *self._new):
            sock.close()

    def _query(self, number: int) -> bytes:
        self.tally.asked += 1
        query = dns.message.make_query(f"n{number}.example.org.", "A", id=number)
        return query.to_wire()


@contextlib.contextmanager
def paused(process: ServerProcess) -> Iterator[None]:
    """Stop the process for a moment: what is sent meanwhile arrives before anything that comes later."""
    process.kill(signal.SIGSTOP)
    yield
    process.kill(signal.SIGCONT)


@pytest.mark.parametrize("corefile", [FAST, SLOW], ids=["answers from memory", "answers that wait"])
def test_stop_answers_everything_that_arrived_before(tmp_path: Path, port: int, corefile: str) -> None:
    with serving(tmp_path, corefile.format(port=port), port) as process:
        burst = Burst(port)
        with paused(process):
            burst.send()
            process.kill(signal.SIGTERM)
        burst.receive()
        assert burst.tally.failures == []
        assert burst.tally.answered == burst.tally.asked == DATAGRAMS + 2 * CONNECTIONS * PIPELINED
        assert process.wait() == 0
        assert process.errors == []


def test_stop_waits_for_an_upstream(tmp_path: Path, port: int) -> None:
    upstream = free_port()
    folder = tmp_path / "upstream"
    folder.mkdir()
    with (
        serving(folder, SLOW.format(port=upstream), upstream),
        serving(tmp_path, FORWARDED.format(port=port, upstream=upstream), port) as process,
    ):
        burst = Burst(port)
        with paused(process):
            burst.send()
            process.kill(signal.SIGTERM)
        burst.receive()
        assert burst.tally.failures == []
        assert burst.tally.answered == burst.tally.asked
        assert process.wait() == 0


def test_reload_under_load(tmp_path: Path, port: int) -> None:
    with serving(tmp_path, FAST.format(port=port), port) as process, Load(port) as load:
        before = process.resident_bytes()
        for i in range(1, RELOADS + 1):
            text = SLOW.replace("300ms", f"{i % 3}ms") if i % 2 else FAST
            (tmp_path / "Corefile").write_text(text.format(port=port))
            process.kill(signal.SIGUSR1)
            process.says("[INFO] Reloading complete", times=i)
        grown = process.resident_bytes() - before
    load.check(least=RELOADS)
    assert not any("[ERROR]" in line for line in process.lines)
    assert grown < 8 << 20


def test_reload_to_another_address_answers_what_the_old_one_got(tmp_path: Path, port: int) -> None:
    other = free_port()
    with serving(tmp_path, SLOW.format(port=port), port) as process:
        burst = Burst(port)
        (tmp_path / "Corefile").write_text(FAST.format(port=other))
        with paused(process):
            burst.send()
            process.kill(signal.SIGUSR1)
        burst.receive()
        assert burst.tally.failures == []
        assert burst.tally.answered == burst.tally.asked
        process.says("[INFO] Reloading complete")
        assert not is_listening(port)
        process.serving(other)


def test_a_connection_lives_through_a_reload(tmp_path: Path, port: int) -> None:
    with (
        serving(tmp_path, FAST.format(port=port), port) as process,
        socket.create_connection(("127.0.0.1", port), timeout=5) as sock,
    ):
        wire = dns.message.make_query("example.org.", "A").to_wire()
        sock.sendall(framed(wire) + framed(wire)[:5])
        assert read_message(sock)[3] & 0x0F == 0
        (tmp_path / "Corefile").write_text(FAST.format(port=port).replace(".:", "example.net:"))
        process.kill(signal.SIGUSR1)
        process.says("[INFO] Reloading complete")
        sock.sendall(framed(wire)[5:])
        assert read_message(sock)[3] & 0x0F == 5  # REFUSED: the new one's answer


def test_lameduck_delays_the_stop_and_not_a_reload(tmp_path: Path, port: int) -> None:
    """B128: each reload waited as long as the lameduck."""
    health = free_port()
    lines = f"health 127.0.0.1:{health} {{\n        lameduck 30s\n    }}\n    "
    text = FAST.format(port=port).replace("erratic", lines + "erratic")
    with serving(tmp_path, text, port) as process:
        (tmp_path / "Corefile").write_text("\n" + text)
        process.kill(signal.SIGUSR1)
        process.says("[INFO] Reloading complete")  # within the patience of `says`, which is less than 30 s
        assert is_listening(health)
        process.kill(signal.SIGTERM)
        process.says("Going into lameduck mode for 30s")
        ask(port)
        ask(port, tcp=True)
        assert is_listening(health)
        assert process.stop(signal.SIGQUIT) == 0


def test_stop_in_the_middle_of_a_reload(tmp_path: Path) -> None:
    """B121: it hung. Ten processes, each told to stop 0 to 500 ms after its configuration changed."""
    rounds = 10
    with contextlib.ExitStack() as stack:
        processes = []
        for i in range(rounds):
            port = free_port()
            folder = tmp_path / str(i)
            folder.mkdir()
            processes.append((stack.enter_context(serving(folder, FAST.format(port=port), port)), folder, port))
        for i, (process, folder, port) in enumerate(processes):
            (folder / "Corefile").write_text(SLOW.format(port=port))
            process.kill(signal.SIGUSR1)
            time.sleep(0.5 * i / rounds if i % 2 else 0.005 * i)
            process.kill(signal.SIGTERM)
        for process, _, _ in processes:
            assert process.wait() == 0, process.output
            assert process.errors == []


def test_stop_while_a_new_configuration_waits_for_its_start(tmp_path: Path, port: int) -> None:
    """B121"""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent_api,
        serving(tmp_path, FAST.format(port=port), port) as process,
    ):
        api = f"kubernetes cluster.local {{\n        endpoint http://127.0.0.1:{silent_api.getsockname()[1]}\n    }}\n"
        (tmp_path / "Corefile").write_text(FAST.format(port=port).replace("erratic", api + "    erratic"))
        process.kill(signal.SIGUSR1)
        silent_api.settimeout(5)
        connection, _ = silent_api.accept()
        with connection:
            ask(port)  # the old one serves on
            assert process.stop() == 0
        assert process.errors == []
        assert not any("Reloading complete" in line for line in process.lines)
