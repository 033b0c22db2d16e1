"""PROXY headers in front of streams: what is spoken behind them sees the client that the proxy names."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from waypost.dispatch.proxying import IGNORE, REJECT, SKIP, USE, ProxyPolicy
from waypost.dispatch.request import Address
from waypost.listeners.proxied import UNWANTED, Refusals
from waypost.listeners.proxy_header import BadHeader, Verdict, parse_header

_MAX_WAITING: Final = 1024


class Gate:
    """Where connections of one listener wait until their header has come. `policy` may be swapped at any time."""

    __slots__ = ("policy", "refusals", "seconds", "waiting")

    def __init__(self, policy: ProxyPolicy, refusals: Refusals, seconds: float) -> None:
        """`seconds` is how long a header may take."""
        self.policy = policy
        self.refusals = refusals
        self.seconds = seconds
        self.waiting: dict[ProxiedStream, None] = {}

    def enter(self, stream: ProxiedStream) -> None:
        """One more waits; of too many the first must go."""
        if len(self.waiting) >= _MAX_WAITING:
            next(iter(self.waiting)).refuse("too many connections wait for a header")
        self.waiting[stream] = None

    def leave(self, stream: ProxiedStream) -> None:
        """It has its header, or is gone."""
        self.waiting.pop(stream, None)

    def close(self) -> None:
        """Nobody waits any more."""
        for stream in list(self.waiting):
            stream.abort()


class ProxiedStream(asyncio.Protocol, asyncio.Transport):
    """The protocol of a TCP connection until the header has come, then the transport of `inner`, which sees the client.

    `inner` is told of the connection, and its clock begins, once it is known who the client is.
    """

    __slots__ = ("_choice", "_data", "_gate", "_inner", "_peer", "_source", "_started", "_timer", "_transport")

    def __init__(self, inner: asyncio.Protocol, gate: Gate) -> None:
        super().__init__()
        self._inner = inner
        self._gate = gate
        self._choice = IGNORE
        self._data = b""
        self._peer: Address = ("", 0)
        self._source: Address | None = None
        self._started = False
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._peer = transport.get_extra_info("peername") or ("", 0)
        self._choice = self._gate.policy.choice(self._peer[0])
        if self._choice == SKIP:
            self._start(b"")
            return
        self._gate.enter(self)
        self._timer = asyncio.get_running_loop().call_later(self._gate.seconds, self.abort)

    def data_received(self, data: bytes) -> None:
        """Bytes, cut anywhere."""
        if self._started:
            self._inner.data_received(data)
            return
        if self.is_closing():
            return
        self._data += data
        try:
            header = parse_header(self._data, datagram=False)
        except BadHeader as exc:
            self.refuse(str(exc))
            return
        if header is Verdict.INCOMPLETE:
            return
        if not isinstance(header, Verdict):
            if self._choice == REJECT:
                self.refuse(UNWANTED)
                return
            if self._choice == USE:
                self._source = header.source
            self._data = self._data[header.size :]
        self._leave()
        self._start(self._data)
        self._data = b""

    def eof_received(self) -> bool | None:
        """The peer closed its side."""
        return self._inner.eof_received() if self._started else None

    def connection_lost(self, exc: Exception | None) -> None:
        """The TCP connection is gone."""
        self._leave()
        self._transport = None
        if self._started:
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It reads again."""
        self._inner.resume_writing()

    def refuse(self, reason: str) -> None:
        """Close, count, tell."""
        self._gate.refusals.add(self._peer, reason)
        self.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the TCP connection knows; `peername` is the client."""
        if name == "peername" and self._source is not None:
            return self._source
        return self._transport.get_extra_info(name, default) if self._transport is not None else default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send."""
        if self._transport is not None:
            self._transport.write(data)

    def can_write_eof(self) -> bool:
        """A side can be closed alone."""
        return True

    def write_eof(self) -> None:
        """Send no more."""
        if self._transport is not None:
            self._transport.write_eof()

    def close(self) -> None:
        """Send what is written, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._leave()
        if self._transport is not None:
            self._transport.abort()

    def is_closing(self) -> bool:
        """True once it is closed, or about to be."""
        return self._transport is None or self._transport.is_closing()

    def is_reading(self) -> bool:
        """False while `inner` wants nothing."""
        return self._transport is not None and self._transport.is_reading()

    def pause_reading(self) -> None:
        """Take nothing from the client for now."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on."""
        if self._transport is not None:
            self._transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for the client."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def _start(self, data: bytes) -> None:
        """It is known who the client is."""
        self._started = True
        self._inner.connection_made(self)
        if data:
            self._inner.data_received(data)

    def _leave(self) -> None:
        """Wait no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._gate.leave(self)
