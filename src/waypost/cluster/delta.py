"""What changed in an index, as bytes: how a process that holds the cluster tells others that hold a copy.

Entries and not API objects, because they are what is kept: small, decoded once, and only those that differ.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from waypost.cluster.entries import ServiceEntry, Slice
from waypost.cluster.index import Dump, Index, Labels

_BATCH = 500


class Delta(msgspec.Struct, array_like=True):
    """Changes by kind, each in its order; None: the entry is gone. With them, how the index stands after them."""

    serial: int = 0
    external_serial: int = 0
    synced: bool = False
    restored: bool = False
    services: list[tuple[bytes, ServiceEntry | None]] = []
    slices: list[tuple[bytes, tuple[bytes, Slice] | None]] = []
    pods: list[tuple[bytes, bytes | None]] = []
    labels: list[tuple[bytes, Labels]] = []
    """Those of pods, to be set after `pods`: of one that is gone again there are none."""
    namespaces: list[tuple[bytes, bool]] = []

    def note(self, kind: str, key: bytes, entry: object) -> None:
        """One more change."""
        getattr(self, kind).append((key, entry))

    def at(self, index: Index) -> Delta:
        """The same with the state of this index."""
        self.serial, self.external_serial = index.serial, index.external_serial
        self.synced, self.restored = index.synced, index.restored
        return self


_DECODER = msgspec.msgpack.Decoder(Delta)


def decode(data: bytes) -> Delta:
    """Bytes of `msgspec.msgpack` as a Delta. Raises msgspec.DecodeError."""
    return _DECODER.decode(data)


def whole(index: Index) -> Iterator[Delta]:
    """Everything in the index, as changes of an empty one, in parts. Only the last says whether it is `synced`."""
    dump: Dump = index.dump()
    kinds: dict[str, list[tuple[bytes, object]]] = {
        "services": [*dump.services],
        "slices": [*dump.slices],
        "pods": [*dump.pods],
        "labels": [*index.pod_labels.items()],
        "namespaces": [(name, True) for name in dump.namespaces],
    }
    for kind, entries in kinds.items():
        for start in range(0, len(entries), _BATCH):
            delta = Delta(index.serial, index.external_serial)
            for key, entry in entries[start : start + _BATCH]:
                delta.note(kind, key, entry)
            yield delta
    yield Delta().at(index)


def apply(delta: Delta, index: Index) -> None:
    """Make the changes. Whoever follows the index is told of each as where it was made first."""
    moment = max(delta.serial, delta.external_serial)
    with index.clock_at(moment):
        for key, service in delta.services:
            index.put_entry(key, service) if service is not None else index.drop_service(key)
        for key, known in delta.slices:
            index.put_known_slice(key, known)
        for key, packed in delta.pods:
            index.put_pod_address(key, packed) if packed is not None else index.drop_pod(key)
        for key, labels in delta.labels:
            index.put_pod_labels(key, labels)
        for name, present in delta.namespaces:
            index.put_namespace(name) if present else index.drop_namespace(name)
    index.stand(delta.serial, delta.external_serial, synced=delta.synced, restored=delta.restored)
