"""Says which ExternalName Services have an address for a name: no CNAME can lead there, so they are not answered."""

from __future__ import annotations

from waypost.cluster.entries import is_address, object_key
from waypost.cluster.index import Index
from waypost.cluster.objects import Service
from waypost.log import Log


class NumericNames:
    """The index's sink of Services, with one line in the log for each such Service."""

    __slots__ = ("_index", "_log", "_sink", "_told")

    def __init__(self, index: Index, log: Log) -> None:
        self._index = index
        self._sink = index.sinks["Service"]
        self._log = log
        self._told: set[bytes] = set()

    def count(self) -> int:
        """How many Services are kept."""
        return self._sink.count()

    def begin_list(self) -> None:
        """A list starts."""
        self._sink.begin_list()

    def listed(self, item: Service) -> None:
        """One Service of the running list."""
        self._sink.listed(item)
        self._look_at(item)

    def end_list(self) -> None:
        """The list is complete."""
        self._sink.end_list()
        self._told &= self._index.services.keys()

    def abort_list(self) -> None:
        """The list broke off."""
        self._sink.abort_list()

    def changed(self, item: Service) -> None:
        """A Service was added or modified."""
        self._sink.changed(item)
        self._look_at(item)

    def removed(self, namespace: str, name: str) -> None:
        """A Service was deleted."""
        self._sink.removed(namespace, name)
        self._told.discard(object_key(namespace, name))

    def _look_at(self, item: Service) -> None:
        meta, spec = item.metadata, item.spec
        if spec.type != "ExternalName" and not self._told:
            return
        key = object_key(meta.namespace, meta.name)
        if spec.type != "ExternalName" or not is_address(spec.external_name):
            self._told.discard(key)
        elif key not in self._told:
            self._told.add(key)
            self._log.warning(
                f"Service '{meta.namespace}/{meta.name}' has an address as its externalName, '{spec.external_name}',"
                " and so no name; a headless Service with an EndpointSlice can have one"
            )
