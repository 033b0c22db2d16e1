"""Processes under measurement: started, waited for, watched in /proc, and ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PROBE = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"


@contextmanager
def running(command: Sequence[str], port: int, seconds: float = 60.0, *, read: bool = False) -> Iterator[int]:
    """The process id of a DNS server that answers at this port of 127.0.0.1; it is killed on leaving.

    `read`: its output is a pipe that another process reads, as a container runtime does; else it is dropped.
    """
    with _reader() if read else nullcontext(subprocess.DEVNULL) as output, process(command, output) as popen:
        deadline = time.monotonic() + seconds
        while not answers(port):
            if popen.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"bench: does not answer: {' '.join(command)}")
            time.sleep(0.05)
        yield popen.pid


@contextmanager
def process(command: Sequence[str], output: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed on leaving, with its children: nobody waits for the end of a lameduck.

    Its output is dropped if not wanted, its standard input stays open.
    """
    popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, start_new_session=True)
    try:
        yield popen
    finally:
        os.killpg(popen.pid, signal.SIGKILL)
        popen.communicate()


@contextmanager
def _reader() -> Iterator[int]:
    """A pipe's writing end, as a descriptor; what is written is read and dropped."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as cat:
        assert cat.stdin is not None
        yield cat.stdin.fileno()


def answers(port: int) -> bool:
    """True if somebody sends a DNS message back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.2)
        try:
            sock.connect(("127.0.0.1", port))
            sock.send(PROBE)
            return len(sock.recv(512)) >= 12
        except OSError:
            return False


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its descendants that live or were waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        used = sum(map(int, fields[11:15])) / TICK
        children = [path.read_text(encoding="ascii").split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # ended meanwhile
        return 0.0
    return used + sum(cpu_seconds(int(child)) for found in children for child in found)


def memory(pid: int, file: str, name: str) -> float:
    """A figure in MiB: `name` of /proc/PID/`file`, such as VmRSS of status or Pss of smaps_rollup."""
    for line in Path(f"/proc/{pid}/{file}").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"bench: no {name} in /proc/PID/{file}")


def until_quiet(pid: int) -> None:
    """Returns when a process rests."""
    last = 0.0
    while (now := cpu_seconds(pid)) - last > 0.05:
        last = now
        time.sleep(0.4)


def listening(port: int, seconds: float = 60.0) -> None:
    """Returns once somebody takes TCP connections at this port of 127.0.0.1."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"bench: nobody listens on port {port}")


def free_port() -> int:
    """A port that nobody listens on, over UDP or TCP."""
    while True:
        with socket.socket() as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            stream.bind(("127.0.0.1", 0))
            port = int(stream.getsockname()[1])
            try:
                datagrams.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
