"""The layout of SkyDNS: `x.staging.skydns.local` stands under `/skydns/local/skydns/staging/x`. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from waypost.wire import addr, names
from waypost.wire.errors import BadName

DEFAULT_PRIORITY: Final = 10
WILDCARDS: Final = frozenset((b"*", b"any"))
_SLASH: Final = b"/"
# Bytes of a text: with a length byte for every 255 of them they fit into a record.
_MAX_TEXT: Final = 65_000
_MAPPED: Final = b"\x00" * 10 + b"\xff\xff"

_Unsigned16 = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]
_Unsigned32 = Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]


class BadEntry(Exception):
    """What stands under a key is no service: `str()` gives the key and what is wrong with its value."""


class _Value(msgspec.Struct):
    host: str = ""
    port: _Unsigned16 = 0
    priority: _Unsigned16 = 0
    weight: _Unsigned16 = 0
    text: str = ""
    mail: bool = False
    ttl: _Unsigned32 = 0
    targetstrip: _Unsigned16 = 0
    group: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """What stands under one key. `address` is packed, `target` a name in wire form; one of them or both are empty.

    A `ttl` of 0 and a `weight` of 0 are not given; `name` is the one that the key stands for.
    """

    key: bytes
    name: bytes
    address: bytes
    target: bytes
    port: int
    priority: int
    weight: int
    text: str
    mail: bool
    ttl: int
    strip: int
    group: str

    @property
    def is_alias(self) -> bool:
        """True if it leads to another name."""
        return bool(self.target) and not self.text

    @property
    def host(self) -> bytes:
        """The name to go to: the one given or, of an address, the key's, without the labels that are to be left out."""
        host = self.name if self.address else self.target
        labels = names.labels(host)
        return names.from_labels(labels[self.strip :]) if 0 < self.strip < len(labels) else host


class Layout:
    """Names to keys and back below one path."""

    __slots__ = ("_base",)

    def __init__(self, path: str) -> None:
        base = posixpath.normpath(_SLASH.decode() + path.strip("/"))
        self._base = base.rstrip("/").encode("utf-8", "surrogateescape")

    def key(self, name: bytes) -> bytes | None:
        """The key of a lower-case name; None if no key can have its labels."""
        segments = [_segment(label) for label in reversed(names.labels(name))]
        if any(_SLASH in segment for segment in segments):
            return None
        return _SLASH.join((self._base, *segments))

    def service(self, key: bytes, value: bytes) -> Service:
        """The service under a key. Raises BadEntry."""
        try:
            fields = msgspec.json.decode(value)
            if not isinstance(fields, dict):
                raise ValueError("expected a JSON object")
            return self._service(key, fields)
        except (ValueError, BadName) as exc:
            raise BadEntry(f"{key.decode('utf-8', 'replace')}: {exc}") from exc

    def _service(self, key: bytes, fields: Mapping[str, object]) -> Service:
        """Numbers may be written as text; letter case of the fields' names does not matter, as in Go."""
        given = {name.lower(): value for name, value in fields.items() if value is not None}
        found = msgspec.convert(given, _Value, strict=False)
        if len(found.text.encode()) > _MAX_TEXT:
            raise ValueError(f"text is longer than {_MAX_TEXT} bytes")
        packed = addr.pack(found.host)
        if packed is not None and packed.startswith(_MAPPED):
            packed = packed[len(_MAPPED) :]
        return Service(
            key=key,
            name=self._name(key) if packed is not None else b"",
            address=packed or b"",
            target=names.from_text(found.host) if found.host and packed is None else b"",
            port=found.port,
            priority=found.priority or DEFAULT_PRIORITY,
            weight=found.weight,
            text=found.text,
            mail=found.mail,
            ttl=found.ttl,
            strip=found.targetstrip,
            group=found.group,
        )

    def _name(self, key: bytes) -> bytes:
        segments = key.removeprefix(self._base).strip(_SLASH).split(_SLASH)
        return names.from_text(b".".join(reversed(segments)).decode("utf-8", "replace"))


def cut(key: bytes) -> bytes:
    """A key up to its first wildcard: where to look for all that it may stand for."""
    segments = key.split(_SLASH)
    end = next((n for n, segment in enumerate(segments) if segment in WILDCARDS), len(segments))
    return _SLASH.join(segments[:end])


def matches(key: bytes, pattern: bytes) -> bool:
    """True if a key is the one with wildcards, or lies below it."""
    wanted, there = pattern.split(_SLASH), key.split(_SLASH)
    if len(wanted) > len(there):
        return False
    return all(segment in WILDCARDS or segment == other for segment, other in zip(wanted, there, strict=False))


def grouped(services: Sequence[Service]) -> list[Service]:
    """Those of the group that the shortest keys name, and those in none; all, if these keys do not agree on one."""
    depths = [service.key.count(_SLASH) for service in services]
    shortest = min(depths, default=0)
    groups = {service.group for service, depth in zip(services, depths, strict=True) if depth == shortest}
    groups.discard("")
    if len(groups) != 1:
        return list(services)
    return [service for service in services if not service.group or service.group in groups]


def srv_weights(services: Sequence[Service]) -> list[int]:
    """The SRV weight of each: what it weighs, by default 100, in percent of all of its priority; at least 1."""
    totals: dict[int, int] = {}
    for service in services:
        totals[service.priority] = totals.get(service.priority, 0) + (service.weight or 100)
    return [max(int(100.0 / totals[service.priority] * (service.weight or 100)), 1) for service in services]


def _segment(label: bytes) -> bytes:
    """A label as it stands in a key: its text, so that odd bytes are escaped."""
    return names.to_text(bytes((len(label),)) + label + names.ROOT)[:-1].encode()
