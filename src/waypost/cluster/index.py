"""The compact index of a cluster: what answers need of Services, EndpointSlices, Pods and Namespaces, and no more.

Everything is bytes and tuples, replaced whole and read without a lock. Keys are the labels of the DNS name in wire
form: the Service `web` in `shop` is `b"\\x03web\\x04shop"`, exactly what stands left of `svc.cluster.local.` in a
query, so the common question is one slice and one dict look-up.

There are two serials, both the Unix second of the last change (0: none yet): `serial` of what the cluster's own zones
say, `external_serial` of what is known of Services outside the cluster.

Every change says which keys it touched (`subscribe`), so that caches in front drop exactly those answers: a Service's
key for names at and below it, a packed address for its reverse name and pod names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from waypost.cluster.addressmap import AddressMap
from waypost.cluster.endpoints import Endpoints
from waypost.cluster.entries import (
    NO_EXTERNAL,
    External,
    Ports,
    ServiceEntry,
    Slice,
    import_entry,
    object_key,
    service_entry,
    slice_entry,
    slice_service,
)
from waypost.cluster.objects import (
    IMPORTED_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    EndpointSlice,
    Namespace,
    Pod,
    Service,
    ServiceImport,
)
from waypost.cluster.sink import Sink
from waypost.wire import addr
from waypost.wire.names import MAX_LABEL

Subscriber = Callable[[Sequence[bytes] | None], None]
Labels = tuple[tuple[str, str], ...]


class Dump(NamedTuple):
    """An index's entries: Services, slices with their Service's key, pods' addresses, each by key; namespaces."""

    services: list[tuple[bytes, ServiceEntry]]
    slices: list[tuple[bytes, tuple[bytes, Slice]]]
    pods: list[tuple[bytes, bytes]]
    namespaces: list[bytes]


class Journal(Protocol):
    """Is told every change, for copies of the index elsewhere (`cluster.delta`)."""

    def note(self, kind: str, key: bytes, entry: object) -> None:
        """An entry of a kind is now this one; None, or False for a namespace: it is gone."""
        ...


class Index:
    """The state of one cluster as answers see it. `now` gives Unix seconds, for the SOA serial."""

    __slots__ = (
        "_external_addresses",
        "_interned",
        "_keep_labels",
        "_kinds",
        "_namespace_bytes",
        "_now",
        "_pod_addresses",
        "_pod_names",
        "_service_addresses",
        "_subscribers",
        "_zones",
        "endpoints",
        "external_serial",
        "import_sinks",
        "journal",
        "namespaces",
        "pod_labels",
        "pods",
        "restored",
        "serial",
        "services",
        "sinks",
        "synced",
    )

    def __init__(
        self,
        now: Callable[[], float],
        *,
        kinds: Iterable[str] = (),
        endpoint_pod_names: bool = False,
        pod_labels: bool = False,
        zones: bool = False,
    ) -> None:
        """`kinds` must have been listed before the index is `synced`.

        `pod_labels` keeps those of pods, `zones` the topology zones of endpoints.
        """
        self.services: dict[bytes, ServiceEntry] = {}
        self.endpoints = Endpoints()
        self.pods: dict[bytes, tuple[bytes, ...]] = {}
        self.pod_labels: dict[bytes, Labels] = {}
        self.namespaces: frozenset[bytes] = frozenset()
        self.serial = 0
        self.external_serial = 0
        self._now = now
        self._kinds = tuple(kinds)
        self.synced = not self._kinds
        """True once every expected kind was listed; it never becomes False again."""
        self.restored = False
        """True if it began with what a snapshot held."""
        self.journal: Journal | None = None
        self._pod_names = endpoint_pod_names
        self._keep_labels = pod_labels
        self._zones = zones
        self._service_addresses: dict[bytes, bytes] = {}
        self._external_addresses = AddressMap()
        self._pod_addresses: dict[bytes, bytes] = {}
        self._interned: dict[Ports, Ports] = {}
        self._namespace_bytes: dict[str, bytes] = {}
        self._subscribers: list[Subscriber] = []
        self.sinks = self._make_sinks()
        self.import_sinks = self._make_import_sinks()
        """For an index of what other clusters export, in place of Services and EndpointSlices."""

    @property
    def known(self) -> bool:
        """True if a name that is not here can be said not to exist: all was listed, or restored."""
        return self.synced or self.restored

    def dump(self) -> Dump:
        """The entries as they are, for a snapshot."""
        pods = list(self._pod_addresses.items())
        return Dump(list(self.services.items()), self.endpoints.items(), pods, sorted(self.namespaces))

    def restore(self, dump: Dump) -> None:
        """Put entries of a snapshot into an index that was not filled yet."""
        for key, entry in dump.services:
            external = NO_EXTERNAL if entry.external == NO_EXTERNAL else entry.external
            self.put_entry(key, entry._replace(ports=self._intern(entry.ports), external=external))
        for key, (service, (ports, endpoints)) in dump.slices:
            self.endpoints.replace(key, (service, (self._intern(ports), endpoints)))
        for key, packed in dump.pods:
            self.put_pod_address(key, packed)
        self.namespaces |= frozenset(dump.namespaces)
        self.restored = True
        self._touch(None)

    @contextmanager
    def clock_at(self, moment: int) -> Iterator[None]:
        """Changes within happen at this Unix second: they were made elsewhere then."""
        now, self._now = self._now, lambda: moment
        try:
            yield
        finally:
            self._now = now

    def stand(self, serial: int, external_serial: int, *, synced: bool, restored: bool) -> None:
        """Take over how the index stands that this one is a copy of."""
        before = (self.serial, self.external_serial, self.known)
        self.serial, self.external_serial = serial, external_serial
        self.synced |= synced
        self.restored |= restored
        if before != (serial, external_serial, self.known):
            self._tell(None)

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Be told the keys that each change touches, None for all of them; gives the function that ends it."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def service_of_address(self, packed: bytes) -> bytes | None:
        """The key of the Service with this cluster address."""
        return self._service_addresses.get(packed)

    def services_of_external(self, packed: bytes) -> tuple[bytes, ...]:
        """The keys of the Services that are reached from outside by this address, sorted."""
        return self._external_addresses.keys(packed)

    def _make_sinks(self) -> dict[str, Sink[Any]]:
        return {
            "Service": Sink[Service](
                self._put_service, self.drop_service, object_key, self.services.keys, self._listed
            ),
            "EndpointSlice": Sink[EndpointSlice](
                self._put_slice, self._drop_slice, object_key, self.endpoints.keys, self._listed
            ),
            "Pod": Sink[Pod](self._put_pod, self.drop_pod, object_key, self._pod_addresses.keys, self._listed),
            "Namespace": Sink[Namespace](
                self._put_namespace,
                self.drop_namespace,
                lambda _, name: name.encode(),
                lambda: self.namespaces,
                self._listed,
            ),
        }

    def _make_import_sinks(self) -> dict[str, Sink[Any]]:
        return {
            "ServiceImport": Sink[ServiceImport](
                self._put_import, self.drop_service, object_key, self.services.keys, self._listed
            ),
            "ImportedSlice": Sink[EndpointSlice](
                self._put_imported_slice, self._drop_slice, object_key, self.endpoints.keys, self._listed
            ),
        }

    def _note(self, kind: str, key: bytes, entry: object) -> None:
        if self.journal is not None:
            self.journal.note(kind, key, entry)

    def _touch(self, keys: Sequence[bytes] | None) -> None:
        self.serial = int(self._now())
        self._tell(keys)

    def _tell(self, keys: Sequence[bytes] | None) -> None:
        for callback in self._subscribers:
            callback(keys)

    def _listed(self) -> None:
        """One kind was read in full; once all were, answers that had to wait for that are out of date."""
        sinks = self.sinks | self.import_sinks
        if all(sinks[kind].synced for kind in self._kinds):
            self.synced = True
            self._touch(None)

    def _intern(self, ports: Ports) -> Ports:
        """Most Services have one of a few port lists."""
        return self._interned.setdefault(ports, ports)

    def _put_service(self, item: Service) -> bytes:
        namespace = self._namespace(item.metadata.namespace)
        key = object_key(item.metadata.namespace, item.metadata.name)
        return self.put_entry(key, service_entry(item, namespace, self._intern))

    def _put_import(self, item: ServiceImport) -> bytes:
        namespace = self._namespace(item.metadata.namespace)
        key = object_key(item.metadata.namespace, item.metadata.name)
        return self.put_entry(key, import_entry(item, namespace, self._intern))

    def _namespace(self, text: str) -> bytes:
        """One bytes object for all entries of a namespace."""
        return self._namespace_bytes.setdefault(text, text.encode())

    def put_entry(self, key: bytes, new: ServiceEntry) -> bytes:
        """A Service is this now; gives its key."""
        old = self.services.get(key)
        if new == old or not key:
            return key
        changed = [key, *(self._forget_addresses(key, old) if old is not None else ())]
        for packed in new.addresses:
            self._service_addresses[packed] = key
        for packed in new.external.addresses:
            self._external_addresses.add(packed, key)
        changed += (*new.addresses, *new.external.addresses)
        self.services[key] = new
        self._note("services", key, new)
        self._service_changed(old, new, changed)
        return key

    def drop_service(self, key: bytes) -> None:
        """A Service is gone; an unknown key does no harm."""
        old = self.services.pop(key, None)
        if old is not None:
            self._note("services", key, None)
            self._service_changed(old, None, [key, *self._forget_addresses(key, old)])

    def _service_changed(self, old: ServiceEntry | None, new: ServiceEntry | None, keys: list[bytes]) -> None:
        if _seen_outside(old) != _seen_outside(new):
            self.external_serial = int(self._now())
        if old is None or new is None or old._replace(external=new.external) != new:
            self.serial = int(self._now())
        self._tell(keys)

    def _forget_addresses(self, key: bytes, entry: ServiceEntry) -> tuple[bytes, ...]:
        for packed in entry.addresses:
            # The address may have moved to another Service already: then it is that one's.
            if self._service_addresses.get(packed) == key:
                del self._service_addresses[packed]
        for packed in entry.external.addresses:
            self._external_addresses.remove(packed, key)
        return entry.addresses + entry.external.addresses

    def _put_slice(self, item: EndpointSlice) -> bytes:
        key = object_key(item.metadata.namespace, item.metadata.name)
        if key:
            entry = slice_entry(item, self._intern, pod_names=self._pod_names, zones=self._zones)
            self.put_known_slice(key, (slice_service(item), entry))
        return key

    def _put_imported_slice(self, item: EndpointSlice) -> bytes:
        key = object_key(item.metadata.namespace, item.metadata.name)
        if key:
            cluster = (item.metadata.labels or {}).get(SOURCE_CLUSTER_LABEL, "").lower().encode()[:MAX_LABEL]
            entry = slice_entry(item, self._intern, pod_names=self._pod_names, cluster=cluster)
            self.put_known_slice(key, (slice_service(item, IMPORTED_SERVICE_LABEL), entry))
        return key

    def _drop_slice(self, key: bytes) -> None:
        self.put_known_slice(key, None)

    def put_known_slice(self, key: bytes, known: tuple[bytes, Slice] | None) -> None:
        """A slice, with its Service's key, is this now; None: it is gone."""
        changed = self.endpoints.replace(key, known)
        if changed:
            self._note("slices", key, known)
            self._touch(changed)

    def _put_pod(self, item: Pod) -> bytes:
        key = object_key(item.metadata.namespace, item.metadata.name)
        packed = addr.pack(item.status.pod_ip)
        # A pod first seen terminating is not added; a known one stays until it is deleted.
        if not key or packed is None or item.metadata.deletion_timestamp:
            return key
        self.put_pod_address(key, packed)
        if self._keep_labels:
            self.put_pod_labels(key, tuple((item.metadata.labels or {}).items()))
        return key

    def put_pod_labels(self, key: bytes, labels: Labels) -> None:
        """A pod has these labels now; an unknown one has none."""
        if key in self._pod_addresses and self.pod_labels.get(key) != labels:
            self.pod_labels[key] = labels
            self._note("labels", key, labels)

    def put_pod_address(self, key: bytes, packed: bytes) -> None:
        """A pod has this address now."""
        if self._pod_addresses.get(key) != packed:
            self.drop_pod(key)
            self._note("pods", key, packed)
            self._pod_addresses[key] = packed
            self.pods[packed] = (*self.pods.get(packed, ()), key)
            self._touch([packed])

    def drop_pod(self, key: bytes) -> None:
        """A pod is gone; an unknown key does no harm."""
        packed = self._pod_addresses.pop(key, None)
        if packed is None:
            return
        self._note("pods", key, None)
        self.pod_labels.pop(key, None)
        rest = tuple(other for other in self.pods.get(packed, ()) if other != key)
        if rest:
            self.pods[packed] = rest
        else:
            self.pods.pop(packed, None)
        self._touch([packed])

    def _put_namespace(self, item: Namespace) -> bytes:
        return self.put_namespace(item.metadata.name.encode())

    def put_namespace(self, name: bytes) -> bytes:
        """A namespace exists; gives its name."""
        if name not in self.namespaces:
            self.namespaces |= {name}
            self._note("namespaces", name, True)
            self._touch(None)
        return name

    def drop_namespace(self, name: bytes) -> None:
        """A namespace is gone; an unknown one does no harm."""
        if name in self.namespaces:
            self.namespaces -= {name}
            self._note("namespaces", name, False)
            self._touch(None)


def _seen_outside(entry: ServiceEntry | None) -> tuple[External, Ports] | None:
    """What can be known of a Service outside the cluster."""
    return (entry.external, entry.ports) if entry is not None and entry.external != NO_EXTERNAL else None
