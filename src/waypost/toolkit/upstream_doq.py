"""DNS over QUIC (RFC 9250): what is sent on a stream, and when what comes back is a reply."""

from __future__ import annotations

import asyncio

from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_reply import judge_message, query_tail
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import Query

_ID = b"\0\0"


def pack(query: Query, tail: bytes) -> bytes:
    """What goes on the stream: the length, id 0 and `tail`, without a keep-alive option (sections 4.2 and 5.5.2)."""
    opt = query.opt
    if opt is not None and any(option.code == consts.EDNS_TCP_KEEPALIVE for option in opt.options):
        options = tuple(option for option in opt.options if option.code != consts.EDNS_TCP_KEEPALIVE)
        allowed = opt._replace(options=options)
        tail = query_tail(
            Query(query.wire, query.id, query.flags, query.qname, query.qtype, query.qclass, allowed, query.starts)
        )
    return (len(tail) + 2).to_bytes(2, "big") + _ID + tail


class DoqExchange:
    """One query and what has come of its reply."""

    __slots__ = ("_buffer", "_query", "answer")

    def __init__(self, query: Query, answer: asyncio.Future[Message]) -> None:
        self.answer = answer
        self._query = query
        self._buffer = bytearray()

    def feed(self, data: bytes, *, end: bool) -> bool:
        """Take a piece of the stream, its last one if `end`; true once the wait is over."""
        self._buffer += data
        size = 2 + int.from_bytes(self._buffer[:2], "big")
        if len(self._buffer) >= max(size, 2):
            self.settle(self._judge(bytes(self._buffer[2:size])))
        elif end:
            self.settle(UpstreamError("bad reply: stream ended early"))
        else:
            return False
        return True

    def settle(self, result: Message | UpstreamError) -> None:
        """End the wait, unless it was given up."""
        if self.answer.done():
            return
        if isinstance(result, UpstreamError):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)

    def _judge(self, data: bytes) -> Message | UpstreamError:
        if not data.startswith(_ID):
            return UpstreamError("bad reply: message id is not 0")
        return judge_message(data, self._query)
