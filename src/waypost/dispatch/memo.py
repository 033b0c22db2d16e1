"""From a packet's bytes to the answer's, for answers that are a function of the question, of live data and of time.

A pod's resolver asks the same few questions over and over. What came out of the chain for such a packet is kept, less
its id, as long as the data that made it is unchanged, and given again without a parse or a chain. Nobody can tell the
difference: a plugin that counts says how to count once more, one that logs how to log, one that counts down a TTL says
what it is by now, and one that changes the order of records keeps the answer from being kept.

The rules, each held in one place:

    `Reply.steady`          who vouches that the reply depends on the question, on the keys in `depends` and, through
                            `Reply.countdown`, on the time alone (set by its source)
    `Reply.alike`           for which other first labels the reply holds (see `dispatch.siblings`)
    `Site.vouchers`         who may: handlers that ever do (`vouches`) with nobody before them but
    `Handler.transparent`   plugins that hand steady replies on as they are, and repeat what they count (`repeats`) or
                            write (`retold`)
    `ChangeFeed`            the source says which keys changed, and by `version` when a denial's SOA serial did

A packet is kept at its second coming only, so that names asked for once cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, Literal

from waypost.dispatch.ahead import Gate, Passage, Road
from waypost.dispatch.request import Address, Retold
from waypost.dispatch.siblings import Families, Family, family_of
from waypost.dispatch.tallies import Repeat, Tallies, Tally
from waypost.wire.message import ttl_places
from waypost.wire.reply import Countdown, Reply

Sighting = Literal[0, 1, 2]
"""What came before: nothing like it, a query of its family, or the same packet."""
NEW: Final = 0
FAMILY: Final = 1
PACKET: Final = 2

_MAX_BYTES = 8 * 1024 * 1024
_MAX_SEEN = 32_768
# What an entry costs beside its own bytes, about.
_ENTRY_BYTES = 400
# The same for each function that writes of it.
_RETOLD_BYTES = 280


class Kept:
    """An answer without its id, what to count for it, what it depends on; with an SOA the data's version, else -1.

    With a `countdown`, `ttl` is what the answer shows, at the offsets `places`.
    """

    __slots__ = ("answer", "countdown", "depends", "places", "retold", "tally", "ttl", "version")

    def __init__(
        self,
        answer: bytes,
        tally: Tally,
        retold: tuple[Retold, ...],
        depends: tuple[bytes, ...],
        version: int,
        countdown: Countdown | None,
    ) -> None:
        self.answer = answer
        self.tally = tally
        self.retold = retold
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
    """The kept answers of one server to datagrams, the oldest leaving first. `version` goes up with any feed's.

    What has no answer may have a passage to an upstream.
    """

    __slots__ = ("_bytes", "_dependents", "_families", "_kept", "_seen", "_tallies", "_versions", "version")

    def __init__(self) -> None:
        self.version = 0
        self._kept: dict[bytes, Kept] = {}
        self._dependents: dict[bytes, list[bytes]] = {}
        self._tallies = Tallies()
        self._families = Families(self._tallies)
        self._seen: set[int] = set()
        self._versions: dict[object, int] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def recall(
        self, wire: bytes, received: float, client_of: Callable[[int], Address], number: int = 0
    ) -> bytes | Passage | None:
        """The answer to a datagram that was received at this time of `time.perf_counter`, or a passage for it.

        None: ask the chain. `client_of(number)` tells who sent it, if anybody wants to know.
        """
        kept = self._kept.get(wire[2:])
        if kept is None or (kept.version != self.version and kept.version >= 0):
            return self._recall_sibling(wire, received)
        countdown = kept.countdown
        if countdown is not None:
            ttl = countdown()
            if ttl < 0:
                return self._recall_sibling(wire, received)
            if ttl != kept.ttl:
                kept.show(ttl)
        seconds = time.perf_counter() - received
        kept.tally.count(seconds)
        if kept.retold:
            client = client_of(number)
            for retell in kept.retold:
                retell(wire, client, seconds)
        return wire[:2] + kept.answer

    def _recall_sibling(self, wire: bytes, received: float) -> bytes | Passage | None:
        """The answer that a name's sibling got, kept for the packet itself at its second coming; or a passage."""
        family = self._families.find(family_of(wire))
        if not isinstance(family, Family):
            return family
        label = wire[12 : 13 + wire[12]].lower()
        for pattern in family.patterns:
            if pattern.version != self.version and pattern.version >= 0:
                continue
            same = pattern.alike(label)
            if same is not None:
                depends, records = same
                answer = pattern.answer(wire, records)
                pattern.tally.count(time.perf_counter() - received)
                if self._seen_before(hash(wire[2:])):
                    tally = self._tallies.take(pattern.tally.repeats)
                    self._put(wire[2:], Kept(answer, tally, (), (depends,), pattern.version, None))
                return wire[:2] + answer
        return None

    def came_before(self, wire: bytes) -> Sighting:
        """Whether a datagram is like an earlier one but for its id, or but for its name, a sibling of that one's."""
        family = self._seen_before(hash(family_of(wire)))
        return PACKET if self._seen_before(hash(wire[2:])) else FAMILY if family else NEW

    def keep(
        self, packet: bytes, answer: bytes, reply: Reply, repeats: Sequence[Repeat], retold: Sequence[Retold] = ()
    ) -> None:
        """Keep the answer to a packet (both without their ids) that a steady reply made."""
        version = self.version if reply.authority and reply.countdown is None else -1
        depends = tuple(dict.fromkeys(reply.depends))
        tally = self._tallies.take(tuple(repeats))
        self._put(packet, Kept(answer, tally, tuple(retold), depends, version, reply.countdown))

    def keep_for_siblings(self, wire: bytes, answer: bytes, end: int, reply: Reply, repeats: Sequence[Repeat]) -> None:
        """Let siblings of a name have the answer that a steady reply made for it; the question ends at `end`."""
        if reply.alike is not None:
            version = self.version if reply.authority else -1
            self._families.learn(wire, answer, end, reply.alike, tuple(repeats), version)

    def send_ahead(self, wire: bytes, road: Road, gates: tuple[Gate, ...]) -> None:
        """Let packets of this one's family that the gates admit leave by this road from now on."""
        self._families.send(wire, road, gates)

    def changed(self, keys: Sequence[bytes] | None, version: int, feed: object = None) -> None:
        """The data of a feed changed, which is of this version now: drop what depends on these keys, None: on any."""
        if self._versions.get(feed) != version:
            self._versions[feed] = version
            self.version += 1
        if keys is None:
            self._kept.clear()
            self._dependents.clear()
            self._families.clear()
            self._tallies.clear()
            self._bytes = 0
            return
        for key in keys:
            for packet in self._dependents.pop(key, ()):
                self._drop(packet)

    def fold(self) -> None:
        """Count what was answered again; done before each scrape, too."""
        self._tallies.fold()

    def _seen_before(self, mark: int) -> bool:
        seen = self._seen
        if mark in seen:
            return True
        if len(seen) >= _MAX_SEEN:
            seen.clear()
        seen.add(mark)
        return False

    def _put(self, packet: bytes, kept: Kept) -> None:
        if packet in self._kept:
            self._drop(packet)
        self._kept[packet] = kept
        self._bytes += _weight(packet, kept)
        for key in kept.depends:
            self._dependents.setdefault(key, []).append(packet)
        while self._bytes > _MAX_BYTES:  # several at once: the way to a dict's first entry leads over what was dropped
            for oldest in tuple(islice(self._kept, len(self._kept) // 64 + 1)):
                self._drop(oldest)

    def _drop(self, packet: bytes) -> None:
        kept = self._kept.pop(packet)
        self._bytes -= _weight(packet, kept)
        self._tallies.give_back(kept.tally)
        for key in kept.depends:
            packets = self._dependents.get(key)
            if packets is not None:
                packets.remove(packet)
                if not packets:
                    del self._dependents[key]


def _weight(packet: bytes, kept: Kept) -> int:
    return len(packet) + len(kept.answer) + _ENTRY_BYTES + len(kept.retold) * _RETOLD_BYTES
