"""The sockets of a configuration: listeners that answer on them, or sockets that are only held for workers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from waypost.control.build import Endpoint, Plan
from waypost.control.lender import Lease
from waypost.corefile.errors import CorefileError
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import DEFAULT_LIMITS
from waypost.listeners.schemes import DATAGRAM_SCHEMES, Listener, make_listener
from waypost.listeners.sockets import ListenError, families, open_socket
from waypost.listeners.tcp import TcpListener
from waypost.listeners.terms import Terms
from waypost.listeners.udp import UdpListener
from waypost.metrics.registry import Registry

# Clients keep connections for gRPC until they are closed: a new one for each burst of queries would cost them more.
_TIMEOUTS = {"grpc": Timeouts(idle=300.0)}


class SocketKey(NamedTuple):
    """One socket: `number` counts those of an address from 0."""

    scheme: str
    host: str
    port: str
    datagram: bool
    number: int


class Outlet(Protocol):
    """What a configuration does with its sockets."""

    def open(self) -> None:
        """Get them. Raises CorefileError."""
        ...

    async def serve(self) -> None:
        """From here on this configuration answers there."""
        ...

    async def close(self) -> None:
        """Give them back: what nobody else has is answered to the end and closed."""
        ...


def sockets_of(plan: Plan) -> Iterator[tuple[Endpoint, SocketKey]]:
    """Every socket of a configuration, with the listen address that it is one of."""
    for endpoint, number in plan.sockets.items():
        kinds = (True, False) if endpoint.scheme == "dns" else (endpoint.scheme in DATAGRAM_SCHEMES,)
        for _, host in families(endpoint.host):
            for n in range(number):
                for datagram in kinds:
                    yield endpoint, SocketKey(endpoint.scheme, host, endpoint.port, datagram, n)


def bound(key: SocketKey) -> socket.socket:
    """A new socket on an address. Raises CorefileError, with CoreDNS's text."""
    kind = socket.SOCK_DGRAM if key.datagram else socket.SOCK_STREAM
    family = socket.AF_INET6 if ":" in key.host else socket.AF_INET
    try:
        return open_socket(family, kind, key.host, key.port)
    except ListenError as exc:
        raise CorefileError.unlocated(f"{'ListenPacket' if key.datagram else 'Listen'}: {exc}") from exc


class Listening:
    """Listeners on the sockets; with `only`, a worker's number, on those with this number."""

    def __init__(
        self,
        plan: Plan,
        lease: Lease,
        metrics: Registry,
        bind: Callable[[SocketKey], socket.socket] = bound,
        only: int | None = None,
    ) -> None:
        self._plan = plan
        self._lease = lease
        self._metrics = metrics
        self._bind = bind
        self._only = only
        self._udp: list[tuple[UdpListener, Endpoint]] = []
        self._listeners: list[tuple[Listener, Endpoint]] = []

    def open(self) -> None:
        """Get the listeners, an older configuration's where it has them."""
        for endpoint, key in sockets_of(self._plan):
            if self._only is not None and key.number != self._only:
                continue
            if key.datagram and key.scheme == "dns":
                udp = self._udp_listener(key)
                udp.alone = self._plan.sockets[endpoint] == 1
                self._udp.append((udp, endpoint))
            else:
                listener = self._listener(key)
                if isinstance(listener, TcpListener):
                    listener.alone = self._plan.sockets[endpoint] == 1
                self._listeners.append((listener, endpoint))

    async def serve(self) -> None:
        """They may have been an older configuration's until now."""
        for udp, endpoint in self._udp:
            udp.serve(self._plan.servers[endpoint])
        for listener, endpoint in self._listeners:
            await listener.serve(self._plan.servers[endpoint], self._terms(endpoint))

    async def close(self) -> None:
        """Give them back."""
        await self._lease.release()

    def _terms(self, endpoint: Endpoint) -> Terms:
        plan, scheme = self._plan, endpoint.scheme
        return Terms(
            plan.timeouts.get(endpoint) or _TIMEOUTS.get(scheme, Timeouts()),
            plan.limits.get(endpoint) or DEFAULT_LIMITS[scheme],
            plan.tls.get(endpoint),
        )

    def _udp_listener(self, key: SocketKey) -> UdpListener:
        return self._lease.lend(key, lambda: UdpListener(self._bind(key), self._metrics))

    def _listener(self, key: SocketKey) -> Listener:
        return self._lease.lend(key, lambda: make_listener(key.scheme, self._bind(key), self._metrics))


class Held:
    """A socket that workers answer on."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    async def close(self) -> None:
        """Close it here; who has a copy goes on."""
        self.sock.close()


class Holding:
    """All sockets, and nobody who reads them in this process: they outlive whoever does. `sockets` are by their key."""

    def __init__(self, plan: Plan, lease: Lease) -> None:
        self.sockets: dict[SocketKey, socket.socket] = {}
        self._plan = plan
        self._lease = lease

    def open(self) -> None:
        """Open what is not open yet."""
        for _, key in sockets_of(self._plan):
            self.sockets[key] = self._held(key).sock

    def of(self, number: int) -> dict[SocketKey, socket.socket]:
        """Those of a worker."""
        return {key: sock for key, sock in self.sockets.items() if key.number == number}

    async def serve(self) -> None:
        """Workers do."""

    async def close(self) -> None:
        """Close what no other configuration has."""
        await self._lease.release()

    def _held(self, key: SocketKey) -> Held:
        return self._lease.lend(("held", key), lambda: Held(bound(key)))
