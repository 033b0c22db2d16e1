"""Who else is here: instances on one node share address and rules, and the last one to leave takes them away.

A claim is an abstract Unix socket. Its names are those of one network namespace, where address and rules are too, and
the kernel drops it with its process, however that ends.
"""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Final

PRESENT: Final = "present"
RULES: Final = "rules"
_LISTED: Final = Path("/proc/self/net/unix")


class Claims:
    """The claims of one instance, on what belongs to `interface`."""

    def __init__(self, interface: str) -> None:
        self.identity = secrets.token_hex(4)
        self._prefix = f"waypost-node-cache/{interface}"
        self._held: dict[str, socket.socket] = {}

    def take(self, kind: str) -> None:
        """Hold it until it is dropped, or the process ends."""
        if kind not in self._held:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            sock.bind(f"\0{self._prefix}/{kind}/{self.identity}")
            self._held[kind] = sock

    def drop(self, kind: str) -> None:
        """Give it up."""
        sock = self._held.pop(kind, None)
        if sock is not None:
            sock.close()

    def others(self, kind: str) -> int:
        """How many other instances hold one."""
        start = f"@{self._prefix}/{kind}/"
        names = {line.rpartition(" ")[2] for line in _LISTED.read_text(encoding="utf-8", errors="replace").splitlines()}
        return sum(name.startswith(start) for name in names - {start + self.identity})
