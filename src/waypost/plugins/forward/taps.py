"""What forward tells those who want to know what upstreams are asked."""

from __future__ import annotations

import time
from collections.abc import Sequence

from waypost.dispatch.request import Request
from waypost.toolkit.exchange import Transport
from waypost.toolkit.upstream_tap import Forwarded, UpstreamTap
from waypost.toolkit.upstreams import Answered
from waypost.wire.reply import Reply


def tell_taps(
    taps: Sequence[UpstreamTap], request: Request, answered: Answered, transport: Transport, asked: int, reply: Reply
) -> None:
    """An upstream was asked at `asked` (nanoseconds since 1970) and has just replied."""
    address = answered.upstream.address
    forwarded = Forwarded(address.ip, address.port, address.scheme, transport.stream, asked, time.time_ns(), reply)
    for tap in taps:
        tap.forwarded(request, forwarded)
