"""How a plugin is told of the queries that others send to upstreams; found among a block's handlers (dnstap)."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from waypost.dispatch.request import Request
from waypost.wire.reply import Reply


class Forwarded(NamedTuple):
    """One query to an upstream, and what came of it.

    `ip` and `port` are the upstream's, `scheme` is `dns`, `tls`, `https` or `quic`, and with `dns` `stream` says
    whether it went over TCP. `asked` and `replied` are in nanoseconds since 1970. `reply` is None if none came.
    """

    ip: str
    port: int
    scheme: str
    stream: bool
    asked: int
    replied: int
    reply: Reply | None


@runtime_checkable
class UpstreamTap(Protocol):
    """A plugin that wants to know."""

    def forwarded(self, request: Request, forwarded: Forwarded) -> None:
        """On behalf of this request an upstream was asked."""
        ...
