"""Queries that come again after a resolver's timeout, and halves of A/AAAA pairs that never come.

A race in the kernel's connection tracking loses one of two packets that leave a socket at the same time. The server
sees one half of the pair, and after the resolver's timeout (5 s in glibc and Go, 2.5 s in musl, 2 s in c-ares) either
the other half, or the same query again: same port, same id.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from waypost.querylog.sketches.generations import Generations
from waypost.querylog.statistics import ClientStats

# The halves of a pair leave together, or the second when the first is answered.
PAIR_SECONDS: Final = 1.5
_TIMEOUTS: Final = ((4.75, 5.5), (2.4, 2.8))
_LONGEST: Final = 6.0
_REMEMBERED: Final = 65_536
_HALVES: Final = {"A": 0, "AAAA": 1}


Sent: TypeAlias = tuple[float, float, str]
"""When a query arrived and was answered (Unix time), and its port and id."""


class Lookup:
    """The queries of a client for a name: A and AAAA, or one of another type."""

    __slots__ = ("client", "pair", "sent")

    def __init__(self, client: ClientStats, pair: bool) -> None:
        self.client = client
        self.pair = pair
        self.sent: list[Sent | None] = [None, None]

    @property
    def missing(self) -> int | None:
        """Which half has not come, 0 for A, 1 for AAAA."""
        return self.sent.index(None) if self.pair and None in self.sent else None


class Resends:
    """Counts them. `back` is how often time went back, so that what belongs together may not have been seen together.

    `resent`: same port and id after a timeout. `again`: new ones, which may be a program that polls. `unanswered`: the
    server had not answered the first. `late_halves`: the second half came a timeout late. `pairs` are whole ones,
    `lone` the halves without the other, A and AAAA. `unjudged` look-ups had to be forgotten too early.
    """

    __slots__ = (
        "_lookups", "_newest", "_turn_at", "again", "back", "late_halves", "lone", "pairs", "resent", "unanswered",
        "unjudged",
    )  # fmt: skip

    def __init__(self) -> None:
        self.resent = self.again = self.unanswered = self.late_halves = self.pairs = 0
        self.back = self.unjudged = 0
        self.lone = [0, 0]
        self._lookups: Generations[tuple[str, ...], Lookup] = Generations(_REMEMBERED)
        self._newest = float("-inf")
        self._turn_at = float("-inf")

    def add(
        self, address: str, name: str, kind: str, arrived: float, answered: float, tag: str, client: ClientStats
    ) -> None:
        """Take note of a query: from which address, for which name and type, when; `tag` is its port and id."""
        if arrived > self._turn_at or arrived < self._newest:
            self._advance(arrived)
        else:
            self._newest = arrived
        half = _HALVES.get(kind)
        key = (address, name) if half is not None else (address, name, kind)
        index = half or 0
        sent = (arrived, answered, tag)
        lookup = self._lookups.get(key)
        if lookup is not None and not self._ends(lookup, index, sent):
            return
        if self._lookups.full:
            self.unjudged += len(self._lookups.turn())
        lookup = Lookup(client, half is not None)
        lookup.sent[index] = sent
        self._lookups.put(key, lookup)

    def end(self) -> None:
        """Judge what is left; the other half of the last ones may come after the end of the log."""
        for lookups in (self._lookups.turn(), self._lookups.turn()):
            for lookup in lookups.values():
                if all(sent is None or sent[0] < self._newest - PAIR_SECONDS for sent in lookup.sent):
                    self._judge(lookup)

    def _ends(self, lookup: Lookup, index: int, sent: Sent) -> bool:
        """Whether a query begins a new look-up of the same name. If so, the one before is judged."""
        before, other = lookup.sent[index], lookup.sent[1 - index]
        if before is None and other is not None:
            gap = abs(sent[0] - other[0])
            if gap <= PAIR_SECONDS or (gap <= _LONGEST and sent[0] <= other[1] + PAIR_SECONDS):
                lookup.sent[index] = sent
                lookup.client.pairs += 1
                self.pairs += 1
                return False
            if gap <= _TIMEOUTS[0][1]:
                lookup.client.late_halves += 1
                self.late_halves += 1
                return True
        elif before is not None:
            gap = sent[0] - before[0]
            if abs(gap) <= PAIR_SECONDS:
                return False
            self._repeated(lookup.client, gap, before, sent)
        self._judge(lookup)
        return True

    def _repeated(self, client: ClientStats, gap: float, before: Sent, sent: Sent) -> None:
        after_timeout, after_short = (low <= gap <= high for low, high in _TIMEOUTS)
        (_, answered, tag), (arrived, _, new_tag) = before, sent
        same = bool(tag) and tag == new_tag
        if not after_timeout and not (after_short and same):
            return
        if answered >= arrived:
            self.unanswered += 1
        elif same:
            client.resent += 1
            self.resent += 1
        else:
            self.again += 1

    def _judge(self, lookup: Lookup) -> None:
        missing = lookup.missing
        if missing is not None:
            lookup.client.halves += 1
            self.lone[1 - missing] += 1

    def _advance(self, now: float) -> None:
        """Judge what no query can belong to any more, or drop it when time goes back."""
        if now > self._turn_at:
            for lookup in self._lookups.turn().values():
                self._judge(lookup)
            self._turn_at = now + _LONGEST
        elif now < self._newest - _LONGEST:
            self.back += 1
            self._lookups.turn()
            self._lookups.turn()
            self._turn_at = now + _LONGEST
            self._newest = now
        if now > self._newest:
            self._newest = now
