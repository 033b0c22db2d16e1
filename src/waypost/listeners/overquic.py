"""Asking a server on behalf of a client that came over QUIC.

For CoreDNS, and so for its metrics, logs and `view` rules, QUIC is a datagram transport, and answers are cut to what
the client said it takes over UDP. But a client over QUIC can be given any size, and has no TCP to ask again by
(RFC 9250 section 4.2): a cut answer is asked for again here, as a stream's.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Final

from waypost.dispatch.ahead import Answer, Messages
from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.wire import consts
from waypost.wire.errors import Rejected
from waypost.wire.query import parse_query

_TC: Final = consts.TC >> 8
_TRANSFERS: Final = frozenset((consts.TYPE_AXFR, consts.TYPE_IXFR))


def ask_over_quic(server: Server, wire: bytes, client: Address) -> Answer:
    """The answer to one message."""
    if _is_transfer(wire):
        return server.serve(wire, client, False)
    kept = server.memos[len(client) > 2].recall(wire, time.perf_counter(), lambda _: client)
    answer = kept if isinstance(kept, bytes) else server.serve(wire, client, True)
    if isinstance(answer, Awaitable):
        return _later(server, wire, client, answer)
    return server.serve(wire, client, False) if _is_cut(answer) else answer


async def _later(server: Server, wire: bytes, client: Address, waiting: Awaitable[Messages]) -> Messages:
    answer = await waiting
    if not _is_cut(answer):
        return answer
    again = server.serve(wire, client, False)
    return await again if isinstance(again, Awaitable) else again


def _is_cut(answer: Messages) -> bool:
    return isinstance(answer, bytes) and answer[2] & _TC != 0


def _is_transfer(wire: bytes) -> bool:
    try:
        return parse_query(wire).qtype in _TRANSFERS
    except Rejected:
        return False
