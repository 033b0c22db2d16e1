"""One configuration from start to stop: its plan, its hooks, its share of what is lent, its listeners."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from itertools import product

from waypost.control.build import Endpoint, Plan
from waypost.control.lender import Lease
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Hook, Hooks
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import DEFAULT_LIMITS
from waypost.listeners.schemes import DATAGRAM_SCHEMES, Listener, make_listener
from waypost.listeners.sockets import ListenError, families, open_socket
from waypost.listeners.terms import Terms
from waypost.listeners.udp import UdpListener
from waypost.metrics.registry import Registry

_DRAIN_SECONDS = 5.0
_HOOK_SECONDS = 5.0
# Clients keep connections for gRPC until they are closed: a new one for each burst of queries would cost them more.
_TIMEOUTS = {"grpc": Timeouts(idle=300.0)}


class Instance:
    """A configuration that runs. `digest` is the SHA-512 of its token tree; `built_in` says that it is no file's.

    `lease` holds what its plugins were lent; `sockets` its listeners, which are given back first.
    """

    def __init__(self, plan: Plan, hooks: Hooks, lease: Lease, sockets: Lease, metrics: Registry, digest: str) -> None:
        self.plan = plan
        self.hooks = hooks
        self.digest = digest
        self.built_in = False
        self.reload_every: tuple[float, float] | None = None
        self._lease = lease
        self._sockets = sockets
        self._metrics = metrics
        self._udp: list[tuple[UdpListener, Endpoint]] = []
        self._listeners: list[tuple[Listener, Endpoint]] = []

    async def start(self) -> None:
        """Run the start hooks and get the sockets; on any error everything is given back and the error goes on."""
        try:
            await run_hooks(self.hooks.start)
            self._open_sockets()
        except BaseException:
            with suppress(Exception):
                await self.stop()
            raise

    async def activate(self) -> None:
        """From here on this configuration answers; the listeners may have been an older one's until now."""
        for udp, endpoint in self._udp:
            udp.serve(self.plan.servers[endpoint])
        for listener, endpoint in self._listeners:
            await listener.serve(self.plan.servers[endpoint], self._terms(endpoint))
        await run_hooks(self.hooks.active)

    async def finish(self) -> None:
        """The last hooks of the process, while DNS is still served (lameduck)."""
        await run_hooks(self.hooks.final)

    async def stop(self) -> None:
        """Take no more queries, let those that wait finish, run the stop hooks, give back what was lent.

        Every step has its time; the first error goes on once all are done.
        """
        try:
            await asyncio.gather(self._sockets.release(), self._drain())
            await run_hooks(self.hooks.stop, _HOOK_SECONDS)
        finally:
            await self._lease.release()

    async def _drain(self) -> None:
        """Wait for queries on listeners that have gone to a newer configuration."""
        await asyncio.gather(*(server.waiting.ended(_DRAIN_SECONDS) for server in self.plan.servers.values()))

    def _open_sockets(self) -> None:
        for endpoint, number in self.plan.sockets.items():
            for (family, host), n in product(families(endpoint.host), range(number)):
                if endpoint.scheme == "dns":
                    self._udp.append((self._udp_listener(endpoint, family, host, n), endpoint))
                self._listeners.append((self._listener(endpoint, family, host, n), endpoint))

    def _terms(self, endpoint: Endpoint) -> Terms:
        plan, scheme = self.plan, endpoint.scheme
        return Terms(
            plan.timeouts.get(endpoint) or _TIMEOUTS.get(scheme, Timeouts()),
            plan.limits.get(endpoint) or DEFAULT_LIMITS[scheme],
            plan.tls.get(endpoint),
        )

    def _udp_listener(self, endpoint: Endpoint, family: socket.AddressFamily, host: str, n: int) -> UdpListener:
        def make() -> UdpListener:
            return UdpListener(_bound(endpoint, family, host, datagram=True), self._metrics)

        return self._sockets.lend(("udp", host, endpoint.port, n), make)

    def _listener(self, endpoint: Endpoint, family: socket.AddressFamily, host: str, n: int) -> Listener:
        scheme = endpoint.scheme

        def make() -> Listener:
            sock = _bound(endpoint, family, host, datagram=scheme in DATAGRAM_SCHEMES)
            return make_listener(scheme, sock, self._metrics)

        return self._sockets.lend((scheme, host, endpoint.port, n), make)


def _bound(endpoint: Endpoint, family: socket.AddressFamily, host: str, *, datagram: bool) -> socket.socket:
    """A socket on one of an endpoint's addresses. Raises CorefileError, with CoreDNS's text."""
    kind = socket.SOCK_DGRAM if datagram else socket.SOCK_STREAM
    try:
        return open_socket(family, kind, host, endpoint.port)
    except ListenError as exc:
        raise CorefileError.unlocated(f"{'ListenPacket' if datagram else 'Listen'}: {exc}") from exc


async def run_hooks(hooks: Sequence[Hook], seconds: float | None = None) -> None:
    """Run hooks together, no longer than this; the first error goes on once all have ended."""
    if not hooks:
        return
    tasks = [asyncio.create_task(_run(hook)) for hook in hooks]
    try:
        _, late = await asyncio.wait(tasks, timeout=seconds)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    for task in late:
        task.cancel()
    errors = [exc for task in tasks if task not in late and (exc := task.exception()) is not None]
    if late:
        errors.append(TimeoutError(f"{len(late)} plugins did not stop within {seconds:g} s"))
    if errors:
        raise errors[0]


async def _run(hook: Hook) -> None:
    waiting = hook()
    if waiting is not None:
        await waiting
