"""PROXY headers in front of datagrams: taken off, and their word for who the client is taken or not."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Self

from waypost.dispatch.ahead import Answer
from waypost.dispatch.proxying import REJECT, SKIP, USE, ProxyPolicy
from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.listeners.proxy_header import BadHeader, Verdict, parse_header
from waypost.log import Log
from waypost.metrics.registry import CounterFamily

REASON: Final = "proxyproto"
"""Of packets and connections that were dropped for their header, in the metric of all drops."""
UNWANTED: Final = "connection rejected by Proxy Protocol connection policy"


class Refusals:
    """Counts headers that are refused, and tells of them, but not of each."""

    __slots__ = ("_drops", "_log")

    def __init__(self, log: Log, drops: CounterFamily) -> None:
        self._log = log
        self._drops = drops

    def add(self, peer: Address, reason: str) -> None:
        """One from this peer."""
        self._drops.labels(REASON).inc()
        text = f"dropping invalid Proxy Protocol packet from {peer[0]}: {reason}"
        self._log.once_a_burst(self._log.warning, text)


class ProxiedDatagrams:
    """Serves datagrams that may have a header. `server` may be swapped at any time between two packets."""

    __slots__ = ("_now", "_refusals", "_sessions", "policy", "server")

    def __init__(
        self,
        policy: ProxyPolicy,
        server: Server,
        drops: CounterFamily,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy = policy
        self.server = server
        self._refusals = Refusals(server.log, drops)
        self._sessions: OrderedDict[Address, tuple[Address, float]] = OrderedDict()
        self._now = now

    @classmethod
    def of(cls, server: Server, drops: CounterFamily, former: Self | None) -> Self | None:
        """What a server asks for: None if nothing, the former one, with its sessions, if that is the same."""
        if server.proxying is None:
            return None
        if former is None or former.policy != server.proxying:
            return cls(server.proxying, server, drops)
        former.server = server
        return former

    def recall(
        self, wire: bytes, received: float, client_of: Callable[[int], Address], number: int = 0
    ) -> bytes | None:
        """Nothing, in place of the memo's: first the header must be taken off."""
        return None

    def serve(self, wire: bytes, peer: Address, datagram: bool) -> Answer:
        """The answer to what is behind the header, which goes to the peer; None for nothing, or a refused one."""
        choice = self.policy.choice(peer[0])
        client = peer
        if choice != SKIP:
            try:
                wire, client = self._unwrap(wire, peer, choice)
            except BadHeader as exc:
                self._refusals.add(peer, str(exc))
                return None
        if not wire:  # a header alone begins a session
            return None
        kept = self.server.memos[len(client) > 2].recall(wire, time.perf_counter(), lambda _: client)
        return kept if isinstance(kept, bytes) else self.server.serve(wire, client, datagram)

    def _unwrap(self, wire: bytes, peer: Address, choice: str) -> tuple[bytes, Address]:
        """What is behind the header, and for whom the peer speaks. Raises BadHeader."""
        header = parse_header(wire, datagram=True)
        client = peer
        if not isinstance(header, Verdict):
            if choice == REJECT:
                raise BadHeader(UNWANTED)
            wire = wire[header.size :]
            client = header.source or peer
        if choice != USE:
            return wire, peer
        return wire, self._session(peer, client) if self.policy.session_seconds > 0 else client

    def _session(self, peer: Address, client: Address) -> Address:
        """For whom the peer speaks now: whom it has just named, or named within the time of a session."""
        now = self._now()
        named, until = self._sessions.pop(peer, (client, 0.0))
        if client is not peer:
            named = client
        elif until <= now:
            return peer
        self._sessions[peer] = (named, now + self.policy.session_seconds)
        if len(self._sessions) > self.policy.max_sessions:
            self._sessions.popitem(last=False)
        return named
