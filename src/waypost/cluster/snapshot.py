"""An index's entries as bytes and back: what is kept on disk for a start without an API server.

The bytes are frames, each a length and a MessagePack batch of entries, and at the end a frame that says how many there
were: a file that was cut off is recognized. Frames are made one by one, so that writing them never holds the loop for
long; entries that change meanwhile are written as they were when the first frame was made.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from waypost.cluster.entries import ServiceEntry, Slice
from waypost.cluster.index import Dump

_MAGIC = b"waypost-snapshot-1\n"
_LENGTH = struct.Struct("!I")
_BATCH = 500
_KINDS = 4
_Services = list[tuple[bytes, ServiceEntry]]
_Slices = list[tuple[bytes, tuple[bytes, Slice]]]


class BadSnapshot(Exception):
    """Bytes that are no whole snapshot of the expected identity."""


class Header(NamedTuple):
    """What a snapshot is of (`identity`: whatever must be equal for its entries to be right) and when it was made."""

    identity: str
    saved: float


def pack(header: Header, dump: Dump) -> Iterator[bytes]:
    """The parts of the file, one after the other."""
    yield _MAGIC + _frame(msgspec.msgpack.encode(header))
    count = 0
    kinds: tuple[Sequence[object], ...] = (dump.services, dump.slices, dump.pods, dump.namespaces)
    for kind, entries in enumerate(kinds):
        for start in range(0, len(entries), _BATCH):
            count += 1
            yield _frame(msgspec.msgpack.encode((kind, entries[start : start + _BATCH])))
    yield _frame(msgspec.msgpack.encode((_KINDS, count)))


def unpack(data: bytes, identity: str) -> tuple[Header, Dump]:
    """A file's content. Raises BadSnapshot if it is not whole, or of something else."""
    if not data.startswith(_MAGIC):
        raise BadSnapshot("not a snapshot of this version")
    frames = _frames(data)
    try:
        header = msgspec.msgpack.decode(next(frames), type=Header)
        if header.identity != identity:
            raise BadSnapshot("made with other settings")
        dump = Dump([], [], [], [])
        for count, frame in enumerate(frames):
            kind, batch = msgspec.msgpack.decode(frame, type=tuple[int, msgspec.Raw])
            if kind == _KINDS:
                if msgspec.msgpack.decode(batch, type=int) == count:
                    return header, dump
                break
            _read(dump, kind, batch)
    except (msgspec.DecodeError, StopIteration, IndexError) as exc:
        raise BadSnapshot(f"damaged: {exc}") from exc
    raise BadSnapshot("cut off")


def _read(dump: Dump, kind: int, batch: msgspec.Raw) -> None:
    if kind == 0:
        dump.services.extend(msgspec.msgpack.decode(batch, type=_Services))
    elif kind == 1:
        dump.slices.extend(msgspec.msgpack.decode(batch, type=_Slices))
    elif kind == 2:
        dump.pods.extend(msgspec.msgpack.decode(batch, type=list[tuple[bytes, bytes]]))
    else:
        dump.namespaces.extend(msgspec.msgpack.decode(batch, type=list[bytes]))


def _frame(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def _frames(data: bytes) -> Iterator[bytes]:
    i = len(_MAGIC)
    while i + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, i)
        i += _LENGTH.size
        if i + length > len(data):
            return
        yield data[i : i + length]
        i += length
