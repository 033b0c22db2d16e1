"""The connections to one upstream over TCP or TLS."""

from __future__ import annotations

import ssl

from waypost.toolkit.inflight import MessageIds
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_dial import DIAL_TIMEOUT
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_pool import ConnectionPool, OnChange, PoolLimits, Spread
from waypost.toolkit.upstream_stream import StreamConnection

# Many servers answer the queries of a TCP connection one after the other, so each query gets its own as far as it
# goes. A TLS handshake is dear, and servers that offer TLS answer out of order (RFC 7858 section 3.3).
_TCP_SPREAD = Spread(1, 64)
_TLS_SPREAD = Spread(8, 16)


def stream_pool(
    address: UpstreamAddress,
    tls: ssl.SSLContext | None,
    limits: PoolLimits,
    source: str,
    ids: MessageIds,
    cache: SocketCache,
) -> ConnectionPool:
    """A pool of connections from the local IP address `source`, empty for any."""

    def connect(timeout: float, on_idle: OnChange, on_closed: OnChange) -> StreamConnection:
        connection = StreamConnection(address, tls, timeout, ids, on_idle, on_closed)
        connection.open(DIAL_TIMEOUT, source)
        return connection

    return ConnectionPool(address, connect, _TCP_SPREAD if tls is None else _TLS_SPREAD, limits, cache)
