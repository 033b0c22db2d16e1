"""Which peers may say, by a PROXY header, for whom they speak, and what becomes of such headers of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from waypost.corefile.networks import Networks
from waypost.wire import addr

USE: Final = "use"
"""The header's address is the client's."""
IGNORE: Final = "ignore"
"""A header is taken off, and that is all."""
REJECT: Final = "reject"
"""Who sends a header is not answered."""
SKIP: Final = "skip"
"""Headers are not looked for: what begins like one is a malformed message."""
CHOICES: Final = (USE, IGNORE, REJECT, SKIP)


@dataclass(frozen=True, slots=True)
class ProxyPolicy:
    """Peers within `allow` are heard; for the others `default` holds. None stands for everybody there.

    With `session_seconds` above 0 a datagram's header counts for the peer's later ones without, for so long after the
    last of them, and for the `max_sessions` peers heard last.
    """

    allow: Networks | None = None
    default: str = IGNORE
    session_seconds: float = 0.0
    max_sessions: int = 10_240

    def choice(self, peer: str) -> str:
        """What holds for a peer's address in text."""
        if self.allow is None:
            return self.default
        packed = addr.pack(peer.partition("%")[0])
        return USE if packed is not None and self.allow.hold(packed) else self.default
