"""Packed addresses to the keys of what has them; several may."""

from __future__ import annotations


class AddressMap:
    """A key stands once for each time it was added. Most addresses have one key, and that is kept bare."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[bytes, bytes | tuple[bytes, ...]] = {}

    def keys(self, packed: bytes) -> tuple[bytes, ...]:
        """The keys of an address, each once, sorted."""
        keys = self._keys.get(packed, ())
        return (keys,) if isinstance(keys, bytes) else tuple(sorted(set(keys)))

    def add(self, packed: bytes, key: bytes) -> None:
        """Let an address have one key more."""
        keys = self._keys.get(packed)
        if keys is None:
            self._keys[packed] = key
        else:
            self._keys[packed] = (keys, key) if isinstance(keys, bytes) else (*keys, key)

    def remove(self, packed: bytes, key: bytes) -> None:
        """Take back one `add` of this key."""
        keys = self._keys.get(packed)
        if isinstance(keys, tuple):
            rest = list(keys)
            rest.remove(key)
            self._keys[packed] = tuple(rest) if len(rest) > 1 else rest[0]
        elif keys is not None:
            del self._keys[packed]
