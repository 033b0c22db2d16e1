"""Names that nobody has asked for yet, but for a sibling of theirs.

Search lists and random names make most of what does not exist, and a memo of packets never has those; and a cluster may
have more Services than it has room for. But packets that differ in the letters of the name's first label alone get the
same denial where no such name exists, and answers that differ in an address where it does. So the packet without these
letters is a family's key; who replies says in `Reply.alike` for which labels the reply holds, and with which answer
section; the question is put in. Families of names that are forwarded have a passage instead (see `dispatch.ahead`).

Nobody in the chain may see a difference between siblings, so a family whose names lie on both sides of a zone cut that
a plugin knows of (`Site.cuts`) is not kept.
"""

from __future__ import annotations

from itertools import islice

from waypost.dispatch.ahead import Gate, Passage, Road
from waypost.dispatch.tallies import Repeat, Tallies, Tally
from waypost.wire.reply import Alike

_HEADER_SIZE = 12
_MAX_PATTERNS = 4
_MAX_BYTES = 4 * 1024 * 1024
# What a family costs beside its key, about.
_FAMILY_BYTES = 1500
_PASSAGE_BYTES = 2500


def family_of(wire: bytes) -> bytes:
    """A packet less its id and the letters of its name's first label, whose length is left."""
    return wire[2:13] + wire[13 + wire[12] :] if len(wire) > _HEADER_SIZE else b""


class Pattern:
    """One kind of reply that names of a family get: less the id, what stands before the question, which ends at `end`,
    and behind the answer section. `version` is that of the data for a reply with an SOA, else -1."""

    __slots__ = ("alike", "before", "behind", "end", "tally", "version")

    def __init__(self, before: bytes, behind: bytes, end: int, alike: Alike, tally: Tally, version: int) -> None:
        self.before = before
        self.behind = behind
        self.end = end
        self.alike = alike
        self.tally = tally
        self.version = version

    def answer(self, wire: bytes, records: bytes) -> bytes:
        """The reply to one of the family's packets, less its id."""
        return self.before + wire[_HEADER_SIZE : self.end] + records + self.behind


class Family:
    """The kinds of reply that names of a family get."""

    __slots__ = ("patterns",)

    def __init__(self) -> None:
        self.patterns: tuple[Pattern, ...] = ()


class Families:
    """The families of one server, the oldest leaving first."""

    __slots__ = ("_bytes", "_families", "_tallies", "find")

    def __init__(self, tallies: Tallies) -> None:
        self._families: dict[bytes, Family | Passage] = {}
        self.find = self._families.get
        """What is known of a family, by its key."""
        self._tallies = tallies
        self._bytes = 0

    def learn(
        self, wire: bytes, answer: bytes, end: int, alike: Alike, repeats: tuple[Repeat, ...], version: int
    ) -> None:
        """Let siblings have the answer that one of them got; the question ends at `end`."""
        own = alike(wire[_HEADER_SIZE : 13 + wire[_HEADER_SIZE]].lower())
        if own is None or not answer.startswith(own[1], end):
            return
        key = family_of(wire)
        family = self._families.get(key)
        if not isinstance(family, Family):
            family = Family()
            self._put(key, family)
        before, behind = answer[2:_HEADER_SIZE], answer[end + len(own[1]) :]
        kept = [each for each in family.patterns if each.before != before][1 - _MAX_PATTERNS :]
        for each in family.patterns:
            if each not in kept:
                self._tallies.give_back(each.tally)
        family.patterns = (*kept, Pattern(before, behind, end, alike, self._tallies.take(repeats), version))

    def send(self, wire: bytes, road: Road, gates: tuple[Gate, ...]) -> None:
        """Let the family of a packet have a passage, if it has none."""
        key = family_of(wire)
        if not isinstance(self._families.get(key), Passage):
            self._put(key, Passage(road, gates, self._tallies))

    def clear(self) -> None:
        """Forget them all; tallies of patterns are the caller's to clear."""
        for family in self._families.values():
            if isinstance(family, Passage):
                family.close()
        self._families.clear()
        self._bytes = 0

    def _put(self, key: bytes, family: Family | Passage) -> None:
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
        if isinstance(family, Passage):
            family.close()
        else:
            for pattern in family.patterns:
                self._tallies.give_back(pattern.tally)


def _weight(key: bytes, family: Family | Passage) -> int:
    return len(key) + (_PASSAGE_BYTES if isinstance(family, Passage) else _FAMILY_BYTES)
