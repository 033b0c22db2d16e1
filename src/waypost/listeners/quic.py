"""A UDP socket on which QUIC is spoken (RFC 9000); the extra `quic` brings the library.

Clients that may not be who they say are made to prove it (RFC 9000 section 8.1.2) once many handshakes are under way.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import Final

from aioquic.buffer import Buffer  # type: ignore[attr-defined]  # it is the library's own name for it
from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE, QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import (
    QuicHeader,
    QuicPacketType,
    encode_quic_retry,
    encode_quic_version_negotiation,
    pull_quic_header,
)
from aioquic.quic.retry import QuicRetryTokenHandler
from aioquic.tls import SessionTicket

from waypost.corefile.errors import CorefileError
from waypost.dispatch.serve import Server
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits, TlsSettings
from waypost.listeners.certificates import Followed, open_keylog
from waypost.listeners.quicpeer import Path, QuicPeer, Speech
from waypost.listeners.sockets import WILDCARDS, connection_limit
from waypost.listeners.terms import Terms
from waypost.listeners.way import Way, ask_for_destination, from_there, sent
from waypost.metrics.registry import Registry

# A handshake costs milliseconds: answers of other listeners must get their turn.
_DATAGRAMS_A_TURN: Final = 8
_LAST_TURNS: Final = 64
_DRAIN_SECONDS: Final = 5.0
_LARGEST: Final = 65_535
_CONTROL_SPACE: Final = 64
_STREAM_WINDOW: Final = 1 << 17
_CONNECTION_WINDOW: Final = 1 << 18
_UNPROVEN: Final = 32
_MAX_TICKETS: Final = 1000
_CANDIDATES: Final = 64

# What the library has to say of bad packets is no event of ours.
logging.getLogger("quic").addHandler(logging.NullHandler())
logging.getLogger("quic").propagate = False


class Tickets:
    """TLS sessions that clients may take up again, each once: what came with a ticket cannot be sent a second time
    by somebody else. The oldest leave first."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[bytes, SessionTicket] = {}

    def keep(self, ticket: SessionTicket) -> None:
        """A client was given this ticket."""
        if len(self._kept) >= _MAX_TICKETS:
            del self._kept[next(iter(self._kept))]
        self._kept[ticket.ticket] = ticket

    def take(self, label: bytes) -> SessionTicket | None:
        """A client has come back with a ticket."""
        return self._kept.pop(label, None)


class QuicListener:
    """One bound UDP socket and its connections. `server` and the terms may be swapped at any time."""

    def __init__(self, sock: socket.socket, metrics: Registry, speech: Speech) -> None:
        self.sock = sock
        self.speech = speech
        self.server: Server | None = None
        self.timeouts = Timeouts()
        self.limits = Limits()
        self.waiting = 0
        self._peers: dict[QuicPeer, None] = {}
        self._by_cid: dict[bytes, QuicPeer] = {}
        self._cids: dict[QuicPeer, set[bytes]] = {}
        self._tickets = Tickets()
        self._retry = QuicRetryTokenHandler()
        self._terms: Terms | None = None
        self._configuration: Followed[QuicConfiguration] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._empty: asyncio.Event | None = None
        self._control_space = _CONTROL_SPACE if sock.getsockname()[0] in WILDCARDS else 0
        if self._control_space:
            ask_for_destination(sock)
        self._drops = metrics.counter(
            "waypost_dropped_packets_total", "Counter of packets that were dropped, by reason.", ("reason",)
        )

    async def serve(self, server: Server, terms: Terms) -> None:
        """Hand queries to this server from now on. Raises CorefileError."""
        self.server = server
        self.timeouts = terms.timeouts
        self.limits = terms.limits
        if terms != self._terms or self._configuration is None:
            self._configuration = self._follow(terms)
            self._terms = terms
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self.sock.fileno(), self._read)

    async def close(self) -> None:
        """Answer what has already arrived, accept no more, let running queries finish, close every connection."""
        self._empty = asyncio.Event()
        if self._loop is not None:
            for _ in range(_LAST_TURNS):
                if not self._read():
                    break
        for peer in list(self._peers):
            peer.finish()
        if self._peers:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), _DRAIN_SECONDS)
        for peer in list(self._peers):
            peer.close(self.speech.done)
        if self._loop is not None:
            self._loop.remove_reader(self.sock.fileno())
        self.sock.close()

    def send(self, data: bytes, way: Way) -> None:
        """Send a datagram; QUIC repeats what is lost."""
        if not sent(self.sock, data, way):
            self._drops.labels("socket").inc()

    def know(self, cid: bytes, peer: QuicPeer) -> None:
        """Packets with this connection id are the peer's."""
        self._by_cid[cid] = peer
        self._cids.setdefault(peer, set()).add(cid)

    def forget(self, peer: QuicPeer, cid: bytes | None = None) -> None:
        """They are no more; without `cid` the peer is gone."""
        if cid is not None:
            self._by_cid.pop(cid, None)
            self._cids.get(peer, set()).discard(cid)
            return
        for each in self._cids.pop(peer, ()):
            self._by_cid.pop(each, None)
        self._peers.pop(peer, None)
        if not self._peers and self._empty is not None:
            self._empty.set()

    def failed(self, error: Exception) -> None:
        """The library could not handle what a client sent."""
        self._drops.labels("quic").inc()
        self._warn(f"QUIC: {type(error).__name__}: {error}")

    def _read(self) -> bool:
        """Take some datagrams; True if more may be waiting."""
        for _ in range(_DATAGRAMS_A_TURN):
            try:
                data, control, _flags, client = self.sock.recvmsg(_LARGEST, self._control_space)
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:  # an ICMP error of an earlier answer
                self._drops.labels("socket").inc()
                continue
            self._take(data, Path(client[0], client[1], Way(client, from_there(control))))
        return True

    def _take(self, data: bytes, path: Path) -> None:
        configuration = self._configuration
        assert configuration is not None
        try:
            header = pull_quic_header(Buffer(data=data), host_cid_length=8)
        except ValueError:
            return
        peer = self._by_cid.get(header.destination_cid)
        if peer is None:
            peer = self._greet(header, len(data), path, configuration.current())
        if peer is not None:
            peer.receive(data, path)

    def _greet(self, header: QuicHeader, size: int, path: Path, configuration: QuicConfiguration) -> QuicPeer | None:
        """A client that nobody knows: perhaps a new connection."""
        if size < SMALLEST_MAX_DATAGRAM_SIZE or not header.version:
            return None
        if header.version not in configuration.supported_versions:
            versions = configuration.supported_versions
            answer = encode_quic_version_negotiation(
                source_cid=header.destination_cid, destination_cid=header.source_cid, supported_versions=versions
            )
            self.send(answer, path.way)
            return None
        if header.packet_type != QuicPacketType.INITIAL or self._empty is not None:
            return None
        original, retried = header.destination_cid, None
        if header.token or self._unproven() >= _UNPROVEN:
            proven = self._proven(header, path)
            if proven is None:
                return None
            original, retried = proven, header.destination_cid
        if not self._make_room():
            return None
        return self._accept(header, original, retried, configuration)

    def _accept(
        self, header: QuicHeader, original: bytes, retried: bytes | None, configuration: QuicConfiguration
    ) -> QuicPeer:
        quic = QuicConnection(
            configuration=configuration,
            original_destination_connection_id=original,
            retry_source_connection_id=retried,
            session_ticket_fetcher=self._tickets.take,
            session_ticket_handler=self._tickets.keep,
        )
        peer = QuicPeer(self, quic)
        self._peers[peer] = None
        self.know(header.destination_cid, peer)
        self.know(quic.host_cid, peer)
        return peer

    def _unproven(self) -> int:
        return sum(1 for peer in self._peers if not peer.ready)

    def _proven(self, header: QuicHeader, path: Path) -> bytes | None:
        """The connection id that the client chose at first, if it shows that it gets what is sent to it."""
        assert self._loop is not None
        now = self._loop.time()
        if header.token:
            try:
                return self._retry.validate_token(
                    address=path, destination_cid=header.destination_cid, token=header.token, now=now
                )
            except ValueError:
                return None
        cid = os.urandom(8)
        token = self._retry.create_token(
            address=path,
            original_destination_connection_id=header.destination_cid,
            retry_source_connection_id=cid,
            now=now,
        )
        retry = encode_quic_retry(
            version=header.version or 0,
            source_cid=cid,
            destination_cid=header.source_cid,
            original_destination_cid=header.destination_cid,
            retry_token=token,
        )
        self.send(retry, path.way)
        return None

    def _make_room(self) -> bool:
        """For one connection too many the oldest idle one must go; False if none of them is idle."""
        most = connection_limit()
        if len(self._peers) < min(self.limits.connections or most, most):
            return True
        self._drops.labels("connections").inc()
        oldest = list(self._peers)[:_CANDIDATES]
        idle = next((peer for peer in oldest if not peer.busy), None)
        if idle is None:
            return False
        idle.close(self.speech.excessive, "too many connections")
        return True

    def _follow(self, terms: Terms) -> Followed[QuicConfiguration]:
        tls = terms.tls
        assert tls is not None
        names = (tls.certificate, tls.key)
        return Followed(names, lambda: configure(tls, self.speech.alpn, terms.timeouts.idle), self._warn)

    def _warn(self, text: str) -> None:
        server = self.server
        if server is not None:
            server.log.once_a_burst(server.log.warning, f"{server.label}: {text}")


def configure(tls: TlsSettings, alpn: str = "", idle: float = 10.0) -> QuicConfiguration:
    """The library's configuration. Raises CorefileError if it cannot use the certificate."""
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=[alpn],
        idle_timeout=idle,
        max_data=_CONNECTION_WINDOW,
        max_stream_data=_STREAM_WINDOW,
    )
    try:
        configuration.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ValueError, IndexError, TypeError) as exc:
        text = f"could not load TLS cert: {tls.certificate}, {tls.key}: {exc}"
        raise CorefileError.unlocated(text) from exc
    if tls.keylog:
        open_keylog(tls.keylog)
        configuration.secrets_log_file = open(tls.keylog, "a", encoding="ascii", buffering=1)  # noqa: SIM115
    return configuration
