"""What a server block says of its encrypted transports: certificates, and how much clients may ask for at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NOBODY: Final = "nocert"
"""Clients need not show a certificate."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """File names. `ca` is who signs clients' certificates, empty for the system's roots; an empty `keylog` is none.

    `client_auth` is `nocert`, `request`, `require`, `verify_if_given` or `require_and_verify`.
    """

    certificate: str
    key: str
    ca: str = ""
    client_auth: str = NOBODY
    keylog: str = ""

    @property
    def checks_clients(self) -> bool:
        """True if a client can be turned away for its certificate, or for having none."""
        return self.client_auth not in (NOBODY, "request")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one socket serves at once: connections, streams of a connection, queries that wait. 0: no limit of ours."""

    connections: int = 0
    streams: int = 0
    waiting: int = 10_000


DEFAULT_LIMITS: Final = {
    "dns": Limits(),
    "tls": Limits(connections=4096),
    "https": Limits(connections=200, streams=256),
    "grpc": Limits(connections=200, streams=256),
    "quic": Limits(connections=200, streams=256, waiting=1024),
    "https3": Limits(connections=200, streams=256),
}
"""By scheme; those that CoreDNS has are CoreDNS's."""
