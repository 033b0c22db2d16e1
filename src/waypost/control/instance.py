"""One configuration from start to stop: its plan, its hooks, its share of what is lent, its listeners."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Sequence

from waypost.control.build import Endpoint, Plan
from waypost.control.lender import Lease
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Hook, Hooks
from waypost.dispatch.timeouts import Timeouts
from waypost.listeners.sockets import ListenError, families, open_socket
from waypost.listeners.tcp import TcpListener
from waypost.listeners.udp import UdpListener
from waypost.metrics.registry import Registry

_DRAIN_SECONDS = 5.0


class Instance:
    """A configuration that runs. `digest` is the SHA-512 of its token tree."""

    def __init__(self, plan: Plan, hooks: Hooks, lease: Lease, metrics: Registry, digest: str) -> None:
        self.plan = plan
        self.hooks = hooks
        self.digest = digest
        self.reload_every: tuple[float, float] | None = None
        self._lease = lease
        self._metrics = metrics
        self._udp: list[tuple[UdpListener, Endpoint]] = []
        self._tcp: list[tuple[TcpListener, Endpoint]] = []

    async def start(self) -> None:
        """Run the start hooks and get the sockets; on any error everything is given back and the error goes on."""
        try:
            await run_hooks(self.hooks.start)
            self._open_sockets()
        except BaseException:
            await self.stop()
            raise

    async def activate(self) -> None:
        """From here on this configuration answers; the listeners may have been an older one's until now."""
        for udp, endpoint in self._udp:
            udp.serve(self.plan.servers[endpoint])
        for tcp, endpoint in self._tcp:
            await tcp.serve(self.plan.servers[endpoint], self.plan.timeouts.get(endpoint, Timeouts()))
        await run_hooks(self.hooks.active)

    async def finish(self) -> None:
        """The last hooks of the process, while DNS is still served (lameduck)."""
        await run_hooks(self.hooks.final)

    async def stop(self) -> None:
        """Let queries that wait finish, run the stop hooks, give back what was lent."""
        pending = {task for server in self.plan.servers.values() for task in server.pending}
        if pending:
            await asyncio.wait(pending, timeout=_DRAIN_SECONDS)
        await run_hooks(self.hooks.stop)
        await self._lease.release()

    def _open_sockets(self) -> None:
        for endpoint in self.plan.servers:
            for family, host in families(endpoint.host):
                if endpoint.scheme == "dns":
                    self._udp.append((self._udp_listener(endpoint, family, host), endpoint))
                self._tcp.append((self._tcp_listener(endpoint, family, host), endpoint))

    def _udp_listener(self, endpoint: Endpoint, family: socket.AddressFamily, host: str) -> UdpListener:
        def make() -> UdpListener:
            try:
                return UdpListener(open_socket(family, socket.SOCK_DGRAM, host, endpoint.port), self._metrics)
            except ListenError as exc:
                raise CorefileError.unlocated(f"ListenPacket: {exc}") from exc

        return self._lease.lend(("udp", host, endpoint.port), make)

    def _tcp_listener(self, endpoint: Endpoint, family: socket.AddressFamily, host: str) -> TcpListener:
        def make() -> TcpListener:
            try:
                return TcpListener(open_socket(family, socket.SOCK_STREAM, host, endpoint.port), self._metrics)
            except ListenError as exc:
                raise CorefileError.unlocated(f"Listen: {exc}") from exc

        return self._lease.lend(("tcp", host, endpoint.port), make)


async def run_hooks(hooks: Sequence[Hook]) -> None:
    """Run hooks together; the first error goes on once all have ended."""
    waiting = [result for hook in hooks if inspect.isawaitable(result := hook())]
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
