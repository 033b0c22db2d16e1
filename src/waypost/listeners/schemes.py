"""The listener for each scheme. What only some of them need is imported when one is used."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from waypost.dispatch.serve import Server
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.connection import TcpConnection
from waypost.listeners.owner import Owner
from waypost.listeners.tcp import TcpListener
from waypost.listeners.terms import Terms
from waypost.metrics.registry import Registry
from waypost.toolkit.extras import require

# The packages that a scheme needs, and the extra that installs them.
_EXTRAS: Final = {
    "https": (("h2", "h11"), "doh"),
    "grpc": (("h2",), "grpc"),
    "quic": (("aioquic",), "quic"),
    "https3": (("aioquic",), "quic"),
}
DATAGRAM_SCHEMES: Final = frozenset(("quic", "https3"))
"""Those over UDP alone; plain DNS is over both, the others are over TCP."""


class Listener(Protocol):
    """A bound socket, and whoever talks to it."""

    async def serve(self, server: Server, terms: Terms) -> None:
        """Answer by this server from now on, on these terms. Raises CorefileError."""
        ...

    async def close(self) -> None:
        """Answer what has arrived, then close."""
        ...


def check_installed(scheme: str) -> None:
    """Raises CorefileError, which names the extra, if a scheme needs a package that is not there."""
    packages, extra = _EXTRAS.get(scheme, ((), ""))
    for package in packages:
        require(package, extra, f"{scheme}://")


def check_certificate(scheme: str, tls: TlsSettings) -> None:
    """Raises CorefileError if a scheme over QUIC cannot have this certificate; for others the directive has looked."""
    if scheme in DATAGRAM_SCHEMES:
        from waypost.listeners.quic import configure

        configure(replace(tls, keylog=""))


def make_listener(scheme: str, sock: socket.socket, metrics: Registry) -> Listener:
    """The listener on a bound socket: a datagram one for `quic` and `https3`, else one that listens."""
    return _MAKERS[scheme](sock, metrics)


def _tls(sock: socket.socket, metrics: Registry) -> Listener:
    from waypost.listeners.padding import framed_and_padded

    return TcpListener(sock, metrics, speak=lambda owner: TcpConnection(owner, framed_and_padded))


def _https(sock: socket.socket, metrics: Registry) -> Listener:
    from waypost.listeners.doh import DohService
    from waypost.listeners.h1conn import Http1Codec
    from waypost.listeners.h2conn import Http2Codec
    from waypost.listeners.http import Codec
    from waypost.listeners.httpconn import HttpConnection

    service = DohService(metrics, "https")

    def speak(owner: Owner) -> HttpConnection:
        def choose(protocol: str | None) -> Codec:
            if protocol == "h2":
                return Http2Codec(service.max_body, owner.limits.streams)
            return Http1Codec(service.max_body)

        return HttpConnection(owner, service, choose)

    return TcpListener(sock, metrics, speak=speak, alpn=("h2", "http/1.1"))


def _grpc(sock: socket.socket, metrics: Registry) -> Listener:
    from waypost.listeners.grpc import GrpcService
    from waypost.listeners.h2conn import Http2Codec
    from waypost.listeners.httpconn import HttpConnection

    service = GrpcService()

    def speak(owner: Owner) -> HttpConnection:
        return HttpConnection(owner, service, lambda protocol: Http2Codec(service.max_body, owner.limits.streams))

    return TcpListener(sock, metrics, speak=speak, alpn=("h2",))


def _quic(sock: socket.socket, metrics: Registry) -> Listener:
    from waypost.listeners import doq
    from waypost.listeners.quic import QuicListener
    from waypost.listeners.quicpeer import Speech

    speech = Speech(doq.ALPN, lambda peer: doq.DoqSession(peer, metrics), doq.NO_ERROR, doq.EXCESSIVE_LOAD)
    return QuicListener(sock, metrics, speech)


def _https3(sock: socket.socket, metrics: Registry) -> Listener:
    from waypost.listeners import doh3
    from waypost.listeners.doh import DohService
    from waypost.listeners.quic import QuicListener
    from waypost.listeners.quicpeer import Speech

    service = DohService(metrics, "https3")
    speech = Speech(doh3.ALPN, lambda peer: doh3.H3Session(peer, service), doh3.NO_ERROR, doh3.EXCESSIVE_LOAD)
    return QuicListener(sock, metrics, speech)


_MAKERS: Final[dict[str, Callable[[socket.socket, Registry], Listener]]] = {
    "dns": TcpListener,
    "tls": _tls,
    "https": _https,
    "grpc": _grpc,
    "quic": _quic,
    "https3": _https3,
}
