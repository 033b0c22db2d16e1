"""How a cluster's indexes reach the workers of a server: each turn's changes in one frame, encoded once.

A frame also tells how far the API server is followed, for `explain` and `ready`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from waypost.cluster.delta import Delta, apply, whole
from waypost.cluster.index import Index

_TELL_EVERY = 1.0


class Frame(msgspec.Struct, array_like=True):
    """Changes of one index (its place in a list of them), the resourceVersions that are reached, and when the API
    server last gave a sign of life, on the machine's monotonic clock in seconds."""

    place: int
    delta: Delta
    versions: dict[str, int]
    sign: float


_DECODER = msgspec.msgpack.Decoder(Frame)


def decode(data: bytes) -> Frame:
    """Raises msgspec.DecodeError."""
    return _DECODER.decode(data)


class Leader:
    """Tells what changes in the indexes; `tell` gets frames, `versions` and `sign` say what goes with each."""

    def __init__(
        self,
        indexes: Sequence[Index],
        tell: Callable[[bytes], None],
        versions: Callable[[], Mapping[str, int]],
        sign: Callable[[], float],
    ) -> None:
        self._notes = [_Notes(self, place, index) for place, index in enumerate(indexes)]
        self._tell = tell
        self._versions = versions
        self._sign = sign
        self._told: tuple[Mapping[str, int], float] = ({}, 0.0)

    async def run(self) -> None:
        """Tell how far the API server is followed, also while nothing changes."""
        while True:
            await asyncio.sleep(_TELL_EVERY)
            if (self._versions(), self._sign()) != self._told:
                self.send(self._notes[0].place, Delta().at(self._notes[0].index))

    def whole(self) -> Iterator[bytes]:
        """Frames for a process that begins with empty indexes."""
        for notes in self._notes:
            for delta in whole(notes.index):
                yield self._frame(notes.place, delta)

    def send(self, place: int, delta: Delta) -> None:
        """One frame."""
        self._tell(self._frame(place, delta))

    def _frame(self, place: int, delta: Delta) -> bytes:
        versions, sign = dict(self._versions()), self._sign()
        self._told = (versions, sign)
        return msgspec.msgpack.encode(Frame(place, delta, versions, sign))

    def stop(self) -> None:
        """Tell nothing any more."""
        for notes in self._notes:
            notes.stop()


class _Notes:
    """The changes of one index within a turn of the loop; its `cluster.index.Journal`."""

    def __init__(self, leader: Leader, place: int, index: Index) -> None:
        self.place = place
        self.index = index
        self._leader = leader
        self._delta: Delta | None = None
        self._end = index.subscribe(self._stands_otherwise)
        index.journal = self

    def note(self, kind: str, key: bytes, entry: object) -> None:
        self._open().note(kind, key, entry)

    def _stands_otherwise(self, keys: Sequence[bytes] | None) -> None:
        self._open()

    def _open(self) -> Delta:
        if self._delta is None:
            self._delta = Delta()
            asyncio.get_running_loop().call_soon(self._close)
        return self._delta

    def _close(self) -> None:
        delta, self._delta = self._delta, None
        if delta is not None:
            self._leader.send(self.place, delta.at(self.index))

    def stop(self) -> None:
        self._end()
        self.index.journal = None


class Copy:
    """What a copy knows of the API server beside its indexes."""

    def __init__(self, indexes: Sequence[Index], sign: float, versions: Mapping[str, int]) -> None:
        self.sign = sign
        self.versions = dict(versions)
        self._indexes = indexes

    def take(self, data: bytes) -> None:
        """Make the changes of a frame."""
        frame = decode(data)
        self.versions, self.sign = frame.versions, frame.sign
        apply(frame.delta, self._indexes[frame.place])
