"""From a packet's bytes to the answer's, for answers that are nothing but a function of the question and of live data.

A pod's resolver asks the same few questions over and over. What came out of the chain for such a packet is kept, less
its id, as long as the data that made it is unchanged, and given again without a parse or a chain. Nobody can tell the
difference: a plugin that counts says how to count once more, and one that looks at the client, changes the order of
records or counts down a TTL keeps the answer from being kept.

The rules, each held in one place:

    `Reply.steady`          the reply depends on the question and on the keys in `depends` alone (set by its source)
    `Handler.transparent`   the plugin hands steady replies on as they are, and repeats what it counts (`repeats`)
    `ChangeFeed`            the source says which keys changed, and by `version` when a denial's SOA serial did

A packet is kept at its second coming only, so that names asked for once cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from waypost.wire.reply import Reply

Repeat = Callable[[float], None]
"""Counts a query once more; takes the time it was received, on the `time.perf_counter` clock."""

_MAX_BYTES = 8 * 1024 * 1024
_MAX_SEEN = 32_768
# What an entry costs beside its own bytes, about.
_ENTRY_BYTES = 400


class Kept(NamedTuple):
    """An answer without its id, what to count for it, what it depends on; with an SOA the data's version, else -1."""

    answer: bytes
    repeats: tuple[Repeat, ...]
    depends: tuple[bytes, ...]
    version: int


class Memo:
    """The kept answers of one server to datagrams, the oldest leaving first. `version` follows the data's."""

    __slots__ = ("_bytes", "_dependents", "_kept", "_repeats", "_seen", "version")

    def __init__(self) -> None:
        self.version = 0
        self._kept: dict[bytes, Kept] = {}
        self._dependents: dict[bytes, list[bytes]] = {}
        self._repeats: dict[tuple[Repeat, ...], tuple[Repeat, ...]] = {}
        self._seen: set[int] = set()
        self._bytes = 0

    def get(self, packet: bytes) -> Kept | None:
        """The answer to a packet (without its id) that is still right."""
        kept = self._kept.get(packet)
        return kept if kept is None or kept.version < 0 or kept.version == self.version else None

    def came_before(self, packet: bytes) -> bool:
        """True at the second coming of a packet."""
        seen = self._seen
        mark = hash(packet)
        if mark in seen:
            return True
        if len(seen) >= _MAX_SEEN:
            seen.clear()
        seen.add(mark)
        return False

    def keep(self, packet: bytes, answer: bytes, reply: Reply, repeats: Sequence[Repeat]) -> None:
        """Keep the answer (without its id) that a steady reply made."""
        if packet in self._kept:
            self._drop(packet)
        shared = tuple(repeats)
        shared = self._repeats.setdefault(shared, shared)
        depends = tuple(dict.fromkeys(reply.depends))
        self._kept[packet] = Kept(answer, shared, depends, self.version if reply.authority else -1)
        self._bytes += _weight(packet, answer)
        for key in depends:
            self._dependents.setdefault(key, []).append(packet)
        while self._bytes > _MAX_BYTES:
            self._drop(next(iter(self._kept)))

    def changed(self, keys: Sequence[bytes] | None, version: int) -> None:
        """Live data changed: drop what depends on these keys, or (None) everything."""
        self.version = version
        if keys is None:
            self._kept.clear()
            self._dependents.clear()
            self._repeats.clear()
            self._bytes = 0
            return
        for key in keys:
            for packet in self._dependents.pop(key, ()):
                self._drop(packet)

    def _drop(self, packet: bytes) -> None:
        kept = self._kept.pop(packet)
        self._bytes -= _weight(packet, kept.answer)
        for key in kept.depends:
            packets = self._dependents.get(key)
            if packets is not None:
                packets.remove(packet)
                if not packets:
                    del self._dependents[key]


def _weight(packet: bytes, answer: bytes) -> int:
    return len(packet) + len(answer) + _ENTRY_BYTES
