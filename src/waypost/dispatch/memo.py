"""From a packet's bytes to the answer's, for answers that are a function of the question, of live data and of time.

A pod's resolver asks the same few questions over and over. What came out of the chain for such a packet is kept, less
its id, as long as the data that made it is unchanged, and given again without a parse or a chain. Nobody can tell the
difference: a plugin that counts says how to count once more, one that counts down a TTL says what it is by now, and one
that looks at the client or changes the order of records keeps the answer from being kept.

The rules, each held in one place:

    `Reply.steady`          who vouches that the reply depends on the question, on the keys in `depends` and, through
                            `Reply.countdown`, on the time alone (set by its source)
    `Site.vouchers`         who may: handlers that ever do (`vouches`) with nobody before them but
    `Handler.transparent`   plugins that hand steady replies on as they are, and repeat what they count (`repeats`)
    `ChangeFeed`            the source says which keys changed, and by `version` when a denial's SOA serial did

A packet is kept at its second coming only, so that names asked for once cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice

from waypost.metrics.traffic import QUICK, Again
from waypost.wire.message import ttl_places
from waypost.wire.reply import Countdown, Reply

Repeat = Callable[[Again], None]
"""Counts queries that were answered again."""

_MAX_BYTES = 8 * 1024 * 1024
_MAX_SEEN = 32_768
# What an entry costs beside its own bytes, about.
_ENTRY_BYTES = 500
# So many durations that are worth a look are counted at once.
_MAX_SLOW = 1024


class Tally:
    """What was answered again for packets that count the same: `users` of them are kept."""

    __slots__ = ("again", "repeats", "users")

    def __init__(self, repeats: tuple[Repeat, ...]) -> None:
        self.repeats = repeats
        self.users = 0
        self.again = Again()

    def fold(self) -> None:
        """Let the plugins count it."""
        if self.again.times:
            again, self.again = self.again, Again()
            for repeat in self.repeats:
                repeat(again)


class Kept:
    """An answer without its id, what to count for it, what it depends on; with an SOA the data's version, else -1.

    With a `countdown`, `ttl` is what the answer shows, at the offsets `places`.
    """

    __slots__ = ("answer", "countdown", "depends", "places", "tally", "ttl", "version")

    def __init__(
        self, answer: bytes, tally: Tally, depends: tuple[bytes, ...], version: int, countdown: Countdown | None
    ) -> None:
        self.answer = answer
        self.tally = tally
        self.depends = depends
        self.version = version
        self.countdown = countdown
        self.ttl = -1
        self.places: tuple[int, ...] = ()

    def show(self, ttl: int) -> None:
        """Let the answer have this TTL."""
        if not self.places:
            self.places = tuple(place - 2 for place in ttl_places(b"\0\0" + self.answer))
        self.ttl = ttl
        packed = ttl.to_bytes(4, "big")
        answer = bytearray(self.answer)
        for place in self.places:
            answer[place : place + 4] = packed
        self.answer = bytes(answer)


class Memo:
    """The kept answers of one server to datagrams, the oldest leaving first. `version` follows the data's."""

    __slots__ = ("_bytes", "_dependents", "_kept", "_seen", "_tallies", "version")

    def __init__(self) -> None:
        self.version = 0
        self._kept: dict[bytes, Kept] = {}
        self._dependents: dict[bytes, list[bytes]] = {}
        self._tallies: dict[tuple[Repeat, ...], Tally] = {}
        self._seen: set[int] = set()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def recall(self, wire: bytes, received: float) -> bytes | None:
        """The answer to a datagram that was received at this time of `time.perf_counter`; None: ask the chain."""
        kept = self._kept.get(wire[2:])
        if kept is None or (kept.version != self.version and kept.version >= 0):
            return None
        countdown = kept.countdown
        if countdown is not None:
            ttl = countdown()
            if ttl < 0:
                return None
            if ttl != kept.ttl:
                kept.show(ttl)
        again = kept.tally.again
        seconds = time.perf_counter() - received
        again.times += 1
        again.seconds += seconds
        if seconds > QUICK:
            again.slow.append(seconds)
            if len(again.slow) >= _MAX_SLOW:
                kept.tally.fold()
        return wire[:2] + kept.answer

    def came_before(self, packet: bytes) -> bool:
        """True at the second coming of a packet (a datagram without its id)."""
        seen = self._seen
        mark = hash(packet)
        if mark in seen:
            return True
        if len(seen) >= _MAX_SEEN:
            seen.clear()
        seen.add(mark)
        return False

    def keep(self, packet: bytes, answer: bytes, reply: Reply, repeats: Sequence[Repeat]) -> None:
        """Keep the answer (both without their ids) that a steady reply made."""
        if packet in self._kept:
            self._drop(packet)
        shared = tuple(repeats)
        tally = self._tallies.get(shared)
        if tally is None:
            tally = self._tallies[shared] = Tally(shared)
        tally.users += 1
        depends = tuple(dict.fromkeys(reply.depends))
        version = self.version if reply.authority and reply.countdown is None else -1
        self._kept[packet] = Kept(answer, tally, depends, version, reply.countdown)
        self._bytes += _weight(packet, answer)
        for key in depends:
            self._dependents.setdefault(key, []).append(packet)
        while self._bytes > _MAX_BYTES:  # several at once: the way to a dict's first entry leads over what was dropped
            for oldest in tuple(islice(self._kept, len(self._kept) // 64 + 1)):
                self._drop(oldest)

    def changed(self, keys: Sequence[bytes] | None, version: int) -> None:
        """Live data changed: drop what depends on these keys, or (None) everything."""
        self.version = version
        if keys is None:
            self.fold()
            self._kept.clear()
            self._dependents.clear()
            self._tallies.clear()
            self._bytes = 0
            return
        for key in keys:
            for packet in self._dependents.pop(key, ()):
                self._drop(packet)

    def fold(self) -> None:
        """Count what was answered again; done before each scrape, too."""
        for tally in self._tallies.values():
            tally.fold()

    def _drop(self, packet: bytes) -> None:
        kept = self._kept.pop(packet)
        self._bytes -= _weight(packet, kept.answer)
        tally = kept.tally
        tally.users -= 1
        if not tally.users:
            tally.fold()
            del self._tallies[tally.repeats]
        for key in kept.depends:
            packets = self._dependents.get(key)
            if packets is not None:
                packets.remove(packet)
                if not packets:
                    del self._dependents[key]


def _weight(packet: bytes, answer: bytes) -> int:
    return len(packet) + len(answer) + _ENTRY_BYTES
