"""EndpointSlices by Service and by address."""

from __future__ import annotations

from waypost.cluster.addressmap import AddressMap
from waypost.cluster.entries import Slice

_Known = tuple[bytes, Slice]
"""The Service's key and the slice's content."""


class Endpoints:
    """Ready endpoints of every Service, merged over its slices in the order of the slices' names."""

    __slots__ = ("_by_address", "_names", "_slices", "by_service")

    def __init__(self) -> None:
        self.by_service: dict[bytes, tuple[Slice, ...]] = {}
        self._slices: dict[bytes, _Known] = {}
        self._names: dict[bytes, tuple[bytes, ...]] = {}
        self._by_address = AddressMap()

    def keys(self) -> list[bytes]:
        """The keys of all slices."""
        return list(self._slices)

    def items(self) -> list[tuple[bytes, tuple[bytes, Slice]]]:
        """Every slice by its key, with its Service's key."""
        return list(self._slices.items())

    def slices_of(self, service: bytes) -> tuple[bytes, ...]:
        """The keys of a Service's slices, in the order of `by_service`."""
        return self._names.get(service, ())

    def services_of(self, packed: bytes) -> tuple[bytes, ...]:
        """The keys of the Services with this ready address, each once, sorted."""
        return self._by_address.keys(packed)

    def replace(self, key: bytes, new: _Known | None) -> list[bytes]:
        """Put, change or (None) drop a slice; gives what it touched: Service keys and packed addresses."""
        old = self._slices.get(key)
        if new == old:
            return []
        changed: set[bytes] = set()
        for known, change in ((old, self._by_address.remove), (new, self._by_address.add)):
            if known is not None and known[0]:
                changed.add(known[0])
                for packed, _, _, _ in known[1][1]:
                    if packed:
                        change(packed, known[0])
                        changed.add(packed)
        if new is None:
            del self._slices[key]
        else:
            self._slices[key] = new
        for service in {known[0] for known in (old, new) if known is not None and known[0]}:
            self._merge(service, key, present=new is not None and new[0] == service)
        return list(changed)

    def _merge(self, service: bytes, key: bytes, *, present: bool) -> None:
        if present and self._names.get(service, (key,)) == (key,):  # most Services have one slice
            self._names[service] = (key,)
            self.by_service[service] = (self._slices[key][1],)
            return
        names = set(self._names.get(service, ()))
        names.add(key) if present else names.discard(key)
        if not names:
            self._names.pop(service, None)
            self.by_service.pop(service, None)
            return
        self._names[service] = ordered = tuple(sorted(names))
        self.by_service[service] = tuple(self._slices[name][1] for name in ordered)
