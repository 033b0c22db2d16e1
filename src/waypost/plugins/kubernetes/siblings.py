"""Which names beside one that was asked for get the same reply, as far as the index knows: see `dispatch.siblings`."""

from __future__ import annotations

import struct
from collections.abc import Callable

from waypost.cluster.entries import CLUSTER_IP
from waypost.cluster.index import Index
from waypost.wire import consts

# A record whose owner is a pointer to the question, up to its rdata.
_POINTED = struct.Struct("!HHHIH")
_QUESTION_POINTER = 0xC00C


def record_head(rtype: int, ttl: int, size: int) -> bytes:
    """A record for the question's name up to its rdata of `size` bytes."""
    return _POINTED.pack(_QUESTION_POINTER, rtype, consts.CLASS_IN, ttl, size)


class Unserved:
    """Whether a sibling of a name at or below a missing Service is missing as well. `key` is the Service's in the
    index: its own label and its namespace's; it begins with the name's first label if the name is the Service's `own`.
    """

    __slots__ = ("_index", "_key", "_namespace")

    def __init__(self, index: Index, key: bytes, *, own: bool) -> None:
        self._index = index
        self._key = key
        self._namespace = key[key[0] + 1 :] if own else b""

    def __call__(self, label: bytes) -> tuple[bytes, bytes] | None:
        key = label + self._namespace if self._namespace else self._key
        return (key, b"") if key not in self._index.services else None


class Served:
    """What a sibling of a Service's own name is answered to a question for addresses of so many bytes: the one address
    that it has, or, with no `record` to put it behind, that it has none."""

    __slots__ = ("_exposes", "_index", "_namespace", "_record", "_size")

    def __init__(
        self, index: Index, exposes: Callable[[bytes], bool], namespace: bytes, size: int, record: bytes
    ) -> None:
        self._index = index
        self._exposes = exposes
        self._namespace = namespace
        self._size = size
        self._record = record

    def __call__(self, label: bytes) -> tuple[bytes, bytes] | None:
        key = label + self._namespace
        entry = self._index.services.get(key)
        if entry is None or entry.kind != CLUSTER_IP or not self._exposes(entry.namespace):
            return None
        found = [packed for packed in entry.addresses if len(packed) == self._size]
        if not self._record:
            return (key, b"") if not found else None
        return (key, self._record + found[0]) if len(found) == 1 else None
