"""Ports for servers under test: free for UDP and TCP, and not handed out twice by concurrent test runs."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO

# Below the ports that the system gives to clients.
_FIRST, _LAST = 20000, 20999


class Ports:
    """Hands out ports; each is held by a lock on a file of its own."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"dns-test-ports.{os.getuid()}"
        self._folder.mkdir(exist_ok=True)
        self._held: dict[int, IO[str]] = {}
        self._lock = threading.Lock()
        self._next = _FIRST + os.getpid() * 37 % (_LAST - _FIRST)

    def take(self) -> int:
        """A port. Raises RuntimeError if there is none."""
        with self._lock:
            for _ in range(_FIRST, _LAST + 1):
                port = self._next
                self._next = _FIRST if port == _LAST else port + 1
                if port not in self._held and self._reserve(port):
                    return port
        raise RuntimeError("no free port")

    def give_back(self, ports: Iterable[int]) -> None:
        """Let others have them."""
        with self._lock:
            for port in ports:
                self._held.pop(port).close()

    def _reserve(self, port: int) -> bool:
        file = (self._folder / str(port)).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                with socket.socket(socket.AF_INET, kind) as probe:
                    if kind == socket.SOCK_STREAM:
                        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("0.0.0.0", port))
        except OSError:
            file.close()
            return False
        self._held[port] = file
        return True
