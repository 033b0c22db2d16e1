"""The real process: start it with words and a Corefile, wait until it answers, signal it, read what it printed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Self

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query

COMMAND = (sys.executable, "-m", "waypost.cli.main")
_PATIENCE = 10.0
# Opcode STATUS is refused by the server itself: no plugin sees the probe.
_PROBE = b"\x12\x34" + (dns.opcode.STATUS << 11).to_bytes(2, "big") + b"\0\1\0\0\0\0\0\0" + b"\0\0\1\0\1"


def free_port() -> int:
    """A port that is free for UDP and TCP on every address at this moment."""
    while True:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as tcp:
            tcp.bind(("::", 0))
            port = int(tcp.getsockname()[1])
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp, contextlib.suppress(OSError):
                udp.bind(("::", port))
                return port


def run(*words: str, cwd: Path | None = None, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run `waypost` to its end with `text` on standard input."""
    return subprocess.run([*COMMAND, *words], cwd=cwd, input=text, capture_output=True, text=True, timeout=_PATIENCE)


class ServerProcess:
    """A `waypost` that runs. `lines` is what it has written to standard output, `errors` to standard error."""

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path | None = None,
        stdin: str | None = None,
        stdout: int = subprocess.PIPE,
        prefix: Sequence[str] = (),
    ) -> None:
        """`prefix` is a command that executes the rest of its words in its own place."""
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._popen = subprocess.Popen(
            [*prefix, *COMMAND, *words],
            cwd=cwd,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        if stdin is not None:
            assert self._popen.stdin is not None
            self._popen.stdin.write(stdin)
            self._popen.stdin.close()
        self._readers = [
            threading.Thread(target=_collect, args=(stream, lines), daemon=True)
            for stream, lines in ((self._popen.stdout, self.lines), (self._popen.stderr, self.errors))
            if stream is not None
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGCONT)
            self._popen.kill()
        self.wait()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def output(self) -> str:
        """Both streams, for messages of failing tests."""
        return "\n".join(["", *self.lines, *self.errors])

    def serving(self, port: int, host: str = "127.0.0.1") -> Self:
        """Wait until it answers on this port, and has its signal handlers and its banner out."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.settimeout(0.05)
            self.until(lambda: _answers(sock, (host, port)), f"an answer on port {port}")
        return self

    def until(self, condition: object, what: str, seconds: float = _PATIENCE) -> None:
        """Wait until `condition()` is true; fails if the process ends first."""
        assert callable(condition)
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.alive, f"ended while waiting for {what}{self.output}"
            assert time.monotonic() < deadline, f"no {what}{self.output}"
            time.sleep(0.01)

    def says(self, text: str, times: int = 1, seconds: float = _PATIENCE) -> None:
        """Wait until so many lines of standard output contain `text`."""
        self.until(lambda: sum(text in line for line in list(self.lines)) >= times, f"line {text!r}", seconds)

    def kill(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def wait(self, seconds: float = _PATIENCE) -> int:
        """The exit code, once it has ended and everything it said is read."""
        code = self._popen.wait(seconds)
        for reader in self._readers:
            reader.join(seconds)
        for stream in (self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()
        return code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and give the exit code."""
        self.kill(number)
        return self.wait()

    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def sockets(self) -> set[str]:
        """Inodes of the sockets it holds."""
        found = set()
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(os.readlink(link))
        return {target for target in found if target.startswith("socket:")}


@contextlib.contextmanager
def serving(tmp_path: Path, corefile: str, port: int, *words: str) -> Iterator[ServerProcess]:
    """A server of this Corefile, written to `Corefile` in the folder, that answers on the port."""
    (tmp_path / "Corefile").write_text(corefile, encoding="utf-8")
    with ServerProcess(["-conf", "Corefile", *words], cwd=tmp_path) as process:
        yield process.serving(port)


def ask(
    port: int, name: str = "example.org.", qtype: str = "A", *, host: str = "127.0.0.1", tcp: bool = False
) -> dns.message.Message:
    """One question; fails without an answer within two seconds."""
    query = dns.message.make_query(name, qtype)
    how = dns.query.tcp if tcp else dns.query.udp
    return how(query, host, timeout=2, port=port)


def is_listening(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody takes TCP connections there."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def get(port: int, path: str) -> str:
    """The body that HTTP gives on a port of loopback."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=3) as response:
        return str(response.read().decode())


def _answers(sock: socket.socket, address: tuple[str, int]) -> bool:
    try:
        sock.sendto(_PROBE, address)
        return dns.message.from_wire(sock.recv(512)).id == 0x1234
    except (OSError, dns.exception.DNSException):
        return False


def _collect(stream: IO[str], lines: list[str]) -> None:
    for line in stream:
        lines.append(line.rstrip("\n"))  # noqa: PERF401  # the test reads them as they come
