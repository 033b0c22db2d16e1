"""A kept reply and what a client is shown of it at its present age."""

from __future__ import annotations

from waypost.dispatch.handler import CacheEntry
from waypost.plugins.cache.key import Key, parts
from waypost.plugins.cache.verdict import with_ttl
from waypost.wire import consts
from waypost.wire.record import Records
from waypost.wire.reply import Reply

_KEPT_FLAGS = consts.RA | consts.AD
# What an item, a record and its parts cost as Python objects, about.
_ITEM_BYTES = 800
_RECORD_BYTES = 180


class Item:
    """One entry of the cache while it is asked for; `frozen` has the form in which it rests.

    Times are on the cache's monotonic clock, in seconds.

    Until `expires` it is fresh, until `until` it may be served at all. `replies` are the ready-made replies at the TTL
    `shown`, by the header bits that depend on the client: each is made once in a second at most, since all clients in
    that second are shown the same.
    """

    __slots__ = (
        "additional",
        "answer",
        "authority",
        "depends",
        "expires",
        "flags",
        "hits",
        "last_hit",
        "lifetime",
        "positive",
        "rcode",
        "replies",
        "retry_at",
        "shown",
        "stored",
        "ttl",
        "until",
        "weight",
        "wildcard",
    )

    def __init__(self, reply: Reply, now: float, ttl: int, lifetime: float) -> None:
        """`reply` has all its records at `ttl`."""
        self.rcode = reply.rcode
        self.flags = reply.flags & _KEPT_FLAGS
        self.answer = reply.answer
        self.authority = reply.authority
        self.additional = reply.additional
        self.stored = now
        self.ttl = ttl
        self.lifetime = lifetime
        self.expires = now + lifetime
        self.until = self.expires
        """The end of its time as a stale answer, later than `expires` if that is wanted."""
        self.positive = False
        """It holds records that answer the question."""
        self.depends = reply.depends
        """Keys of live data: a change of one may make the entry wrong."""
        self.wildcard = ""
        self.hits = 0
        self.last_hit = now
        self.retry_at = now
        """Not refreshed before this time."""
        self.shown = ttl
        self.replies: dict[int, Reply] = {}
        self.weight = _ITEM_BYTES + _weight(self.answer) + _weight(self.authority) + _weight(self.additional)

    def reply(self, ttl: int, bits: int) -> Reply:
        """The reply with this TTL; `bits` are the client's RD and CD, and AD if the client wants that."""
        if ttl != self.shown:
            self.shown = ttl
            self.answer = with_ttl(self.answer, ttl)
            self.authority = with_ttl(self.authority, ttl)
            self.additional = with_ttl(self.additional, ttl)
            self.replies = {}
        reply = self.replies.get(bits)
        if reply is None:
            flags = consts.AA | self.flags & consts.RA | bits & (consts.COPIED | self.flags & consts.AD)
            reply = Reply(self.rcode, flags, self.answer, self.authority, self.additional, depends=self.depends)
            self.replies[bits] = reply
        return reply

    def entry(self, key: Key, now: float, *, denial: bool) -> CacheEntry:
        """The item as it is listed."""
        name, qtype, qclass, do, cd = parts(key)
        age = int(now - self.stored)
        records = len(self.answer) + len(self.authority) + len(self.additional)
        ttl, stale = max(self.ttl - age, 0), now >= self.expires
        return CacheEntry(name, qtype, qclass, do, cd, self.rcode, denial, ttl, age, stale, records)


def _weight(records: Records) -> int:
    return sum(_RECORD_BYTES + len(record.owner) + len(record.rdata) for record in records)
