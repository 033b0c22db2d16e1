"""Lines of a hosts file to a table of names and addresses (hosts(5))."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from waypost.toolkit.zonelist import ZoneList
from waypost.wire import addr, names
from waypost.wire.errors import BadName

_MAPPED = b"\x00" * 10 + b"\xff\xff"
_WILDCARD = b"\x01*"


class Addresses(NamedTuple):
    """The packed IPv4 and IPv6 addresses of one name, in file order, repetitions kept."""

    v4: tuple[bytes, ...]
    v6: tuple[bytes, ...]


class Table:
    """What the hosts lines say. Never changed: a reload makes a new one."""

    __slots__ = ("_by_address", "_by_name", "entries")

    def __init__(self, by_name: dict[bytes, Addresses], by_address: dict[bytes, tuple[bytes, ...]]) -> None:
        self._by_name = by_name
        self._by_address = by_address
        forward = sum(len(found.v4) + len(found.v6) for found in by_name.values())
        self.entries = forward + sum(map(len, by_address.values()))

    def addresses(self, name: bytes) -> Addresses | None:
        """Those of a lower-case name, or of the wildcard that stands for its first label; None if it is unknown."""
        found = self._by_name.get(name)
        if found is None and name != names.ROOT:
            return self._by_name.get(_WILDCARD + names.parent(name))
        return found

    def names(self, packed: bytes) -> tuple[bytes, ...]:
        """The names of an address, for its PTR records."""
        return self._by_address.get(packed, ())


def parse_table(texts: Iterable[str], zones: ZoneList, *, reverse: bool) -> Table:
    """A table of the lines of all texts, in this order.

    A line without an address, a name that is none and a name outside the zones are left out. Without `reverse` no
    address has a name.
    """
    forward: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
    backward: dict[bytes, list[bytes]] = {}
    for packed, name in _entries(texts):
        if not zones.covers(name):
            continue
        forward.setdefault(name, ([], []))[len(packed) == 16].append(packed)
        if reverse and not name.startswith(_WILDCARD):
            backward.setdefault(packed, []).append(name)
    return Table(
        {name: Addresses(tuple(v4), tuple(v6)) for name, (v4, v6) in forward.items()},
        {packed: tuple(known) for packed, known in backward.items()},
    )


def _entries(texts: Iterable[str]) -> Iterator[tuple[bytes, bytes]]:
    for text in texts:
        for line in text.splitlines():
            fields = line.partition("#")[0].split()
            packed = parse_address(fields[0]) if len(fields) > 1 else None
            if packed is None:
                continue
            for field in fields[1:]:
                try:
                    yield packed, names.from_text(field).lower()
                except BadName:
                    continue


def parse_address(text: str) -> bytes | None:
    """A packed address without its scope id; a mapped IPv4 address is an IPv4 one. None if it is none."""
    packed = addr.pack(text.partition("%")[0])
    if packed is not None and packed.startswith(_MAPPED):
        return packed[12:]
    return packed
