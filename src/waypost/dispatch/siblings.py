"""Names that nobody has asked for yet, but for a sibling of theirs.

Search lists and random names make most of what does not exist, and a memo of packets never has those. But two packets
that differ in the letters of the name's first label alone get the same denial, if neither name exists. So the packet
without these letters is a family's key; what denies says in `Reply.alike` which labels it denies alike; and the answer
has the question put in. Families of names that are forwarded have a passage instead (see `dispatch.ahead`).

Nobody in the chain may see a difference between siblings, so a family whose names lie on both sides of a zone cut that
a plugin knows of (`Site.cuts`) is not kept.
"""

from __future__ import annotations

from itertools import islice

from waypost.dispatch.ahead import Gate, Passage, Road
from waypost.dispatch.tallies import Repeat, Tallies, Tally
from waypost.wire.reply import Alike

_HEADER_SIZE = 12
_MAX_BYTES = 4 * 1024 * 1024
# What a family costs beside its key, about.
_DENIAL_BYTES = 700
_PASSAGE_BYTES = 2500


def family_of(wire: bytes) -> bytes:
    """A packet less its id and the letters of its name's first label, whose length is left."""
    return wire[2:13] + wire[13 + wire[12] :] if len(wire) > _HEADER_SIZE else b""


class Denial:
    """What the names of a family are answered, at one version of the data: less the id, before and behind the question,
    which ends at `end`."""

    __slots__ = ("alike", "before", "behind", "end", "tally", "version")

    def __init__(self, answer: bytes, end: int, alike: Alike, tally: Tally, version: int) -> None:
        self.before = answer[2:_HEADER_SIZE]
        self.behind = answer[end:]
        self.end = end
        self.alike = alike
        self.tally = tally
        self.version = version

    def answer(self, wire: bytes) -> bytes:
        """That of one of its packets, less its id."""
        return self.before + wire[_HEADER_SIZE : self.end] + self.behind


class Families:
    """The families of one server, the oldest leaving first."""

    __slots__ = ("_bytes", "_families", "_tallies", "find")

    def __init__(self, tallies: Tallies) -> None:
        self._families: dict[bytes, Denial | Passage] = {}
        self.find = self._families.get
        """What is known of a family, by its key."""
        self._tallies = tallies
        self._bytes = 0

    def deny(
        self, wire: bytes, answer: bytes, end: int, alike: Alike, repeats: tuple[Repeat, ...], version: int
    ) -> None:
        """Keep the answer to one of a family, whose question ends at `end`."""
        self._put(family_of(wire), Denial(answer, end, alike, self._tallies.take(repeats), version))

    def send(self, wire: bytes, road: Road, gates: tuple[Gate, ...]) -> None:
        """Let the family of a packet have a passage."""
        self._put(family_of(wire), Passage(road, gates, self._tallies))

    def clear(self) -> None:
        """Forget them all; their tallies are the caller's to clear."""
        self._families.clear()
        self._bytes = 0

    def _put(self, key: bytes, family: Denial | Passage) -> None:
        if key in self._families:
            self._drop(key)
        self._families[key] = family
        self._bytes += _weight(key, family)
        while self._bytes > _MAX_BYTES:  # several at once: the way to a dict's first entry leads over what was dropped
            for oldest in tuple(islice(self._families, len(self._families) // 64 + 1)):
                self._drop(oldest)

    def _drop(self, key: bytes) -> None:
        family = self._families.pop(key)
        self._bytes -= _weight(key, family)
        if isinstance(family, Denial):
            self._tallies.give_back(family.tally)
        else:
            family.close()


def _weight(key: bytes, family: Denial | Passage) -> int:
    return len(key) + (_DENIAL_BYTES if isinstance(family, Denial) else _PASSAGE_BYTES)
