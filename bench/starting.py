"""How long a server takes from being started to its first answer."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import dns.message
from loads import service_name
from processes import free_port, process
from servers import COMMAND, command_line, compiled, surroundings

_PROBE = dns.message.make_query(service_name(0), "A", id=0x1234).to_wire()
_PATIENCE = 60.0
_PAUSE = 0.002


def start_times(clusters: Sequence[int], rounds: int) -> dict[int, list[float]]:
    """Seconds until a Service's name is answered, by how many of them there are, for each round."""
    times: dict[int, list[float]] = {}
    compiled()
    for services in clusters:
        with surroundings(services) as around, tempfile.TemporaryDirectory() as folder:
            times[services] = []
            for _ in range(rounds):
                port = free_port()
                times[services].append(_until_answered(command_line(COMMAND, Path(folder), port, around), port))
    return times


def _until_answered(command: Sequence[str], port: int) -> float:
    started = time.monotonic()
    with process(command), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.05)
        sock.connect(("127.0.0.1", port))
        while time.monotonic() - started < _PATIENCE:
            try:
                sock.send(_PROBE)
                wire = sock.recv(512)
            except OSError:
                time.sleep(_PAUSE)  # nobody listens yet
                continue
            if wire[3] & 15 == 0 and wire[7]:
                return time.monotonic() - started
            time.sleep(_PAUSE)
    raise SystemExit(f"bench: no answer for {_PATIENCE:.0f} s: {' '.join(command)}")
