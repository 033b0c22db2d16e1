"""Listeners of encrypted transports on loopback, in this process, and what a client needs to trust them."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Self

from support.listening import World
from support.tree import ROOT
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import DEFAULT_LIMITS, Limits, TlsSettings
from waypost.listeners.schemes import DATAGRAM_SCHEMES, make_listener
from waypost.listeners.sockets import open_socket
from waypost.listeners.terms import Terms

KEYS = ROOT / "tests/data/kube-tls"
SERVER_NAME = "kubernetes.default.svc"
"""The name in the throw-away certificate."""
TLS = TlsSettings(str(KEYS / "server.pem"), str(KEYS / "server.key"))
CA = str(KEYS / "ca.pem")


class Listening:
    """An `async with` context: a listener of a scheme, with a world behind it."""

    def __init__(
        self,
        scheme: str,
        *,
        tls: TlsSettings | None = TLS,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.world = World(host)
        self.terms = Terms(timeouts or Timeouts(), limits or DEFAULT_LIMITS[scheme], tls)
        kind = socket.SOCK_DGRAM if scheme in DATAGRAM_SCHEMES else socket.SOCK_STREAM
        sock = open_socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind, host, "0")
        self.port: int = sock.getsockname()[1]
        self.listener = make_listener(scheme, sock, self.world.registry)

    async def __aenter__(self) -> Self:
        await self.listener.serve(self.world.server, self.terms)
        return self

    async def __aexit__(self, *exc: object) -> None:
        for event in self.world.plugin.waiting.values():
            event.set()
        await self.listener.close()

    def counted(self, metric: str) -> dict[tuple[str, ...], float]:
        """The cells of a counter by label values."""
        return {key: cell.value for key, cell in self.world.registry.families[metric].cells.items()}  # type: ignore[union-attr]


def trusting(alpn: Sequence[str] = (), *, client: bool = False) -> ssl.SSLContext:
    """A client's context that trusts the throw-away certificate, and shows one with `client`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(CA)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if client:
        context.load_cert_chain(KEYS / "client.pem", KEYS / "client.key")
    return context
