"""What the client gets for an outcome of the chain; logs and counters must say the same."""

from __future__ import annotations

from typing import Final

from waypost.wire import consts
from waypost.wire.fit import pack, reply_size, size_limit
from waypost.wire.query import Query
from waypost.wire.reply import Reply, copied_flags

SERVER_WRITTEN: Final = frozenset((consts.FORMERR, consts.SERVFAIL, consts.NOTIMP, consts.REFUSED))
"""The rcodes that the server answers with when no plugin wrote a message; any other outcome without one is silence."""


def as_sent(query: Query, reply: Reply) -> Reply | None:
    """The reply as it leaves, None for silence."""
    if reply.written:
        return reply
    return Reply(reply.rcode, copied_flags(query)) if reply.rcode in SERVER_WRITTEN else None


def sent_flags(query: Query, reply: Reply, *, datagram: bool) -> int:
    """Header bits of a written reply as it leaves, TC included if it has to be cut."""
    if reply_size(query, reply) > size_limit(query, datagram=datagram):
        return int.from_bytes(pack(query, reply, datagram=datagram)[2:4], "big")
    return consts.QR | reply.flags
