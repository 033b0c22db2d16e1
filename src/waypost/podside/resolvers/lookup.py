"""What a program asks of its stub resolver, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

FAMILIES: Final = {"unspec": ("A", "AAAA"), "inet": ("A",), "inet6": ("AAAA",)}
"""Address family to the types that are asked for."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A call of getaddrinfo or its like: the name as given, the text of resolv.conf, and the host's own name.

    `env` holds RES_OPTIONS and LOCALDOMAIN, which only glibc heeds.
    """

    name: str
    resolv_conf: str
    family: str = "unspec"
    hostname: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    record_types: tuple[str, ...] = ()
    """What to ask for instead of the family's types, as a call of res_search does."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types to ask for, A first."""
        return self.record_types or FAMILIES[self.family]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`result` is `addresses`, `nxdomain` or `nodata`; empty for a failure that only the replies explain.

    `name` is the one that decided it, with its final dot: the one that has addresses, or the name as given.
    """

    result: str
    addresses: tuple[str, ...] = ()
    name: str = ""
