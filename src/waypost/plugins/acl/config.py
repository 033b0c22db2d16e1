"""What a Corefile says of acl, as policies.

acl [ZONES...] {
    allow|block|filter|drop [type QTYPE...] [net NETWORK...]
}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

from waypost.corefile.addresses import parse_network
from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.wire import consts

_SECTIONS: Final = ("type", "net")


class Action(Enum):
    """What happens to a query."""

    ALLOW = "allow"
    BLOCK = "block"
    FILTER = "filter"
    DROP = "drop"


_ACTIONS: Final = {action.value: action for action in Action}


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks, by address size in bytes and then by how many bits their prefixes leave out."""

    prefixes: dict[int, dict[int, set[int]]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Those in CIDR notation. Raises ValueError with the text that is wrong."""
        prefixes: dict[int, dict[int, set[int]]] = {4: {}, 16: {}}
        for text in texts:
            try:
                network = parse_network(text)
            except ValueError:
                raise ValueError(text) from None
            shift = network.max_prefixlen - network.prefixlen
            of_size = prefixes[network.max_prefixlen // 8]
            of_size.setdefault(shift, set()).add(int(network.network_address) >> shift)
        return cls(prefixes)

    def hold(self, packed: bytes) -> bool:
        """True if an address of 4 or 16 bytes lies in one of them."""
        number = int.from_bytes(packed, "big")
        for shift, prefixes in self.prefixes[len(packed)].items():  # noqa: SIM110 - on the way of a query
            if number >> shift in prefixes:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Policy:
    """An action for types and networks; None stands for all."""

    action: Action
    types: frozenset[int] | None = None
    networks: Networks | None = None

    def fits(self, qtype: int, client: bytes) -> bool:
        """True if it decides on this type from this client, an address of 4 or 16 bytes."""
        if self.types is not None and qtype not in self.types:
            return False
        return self.networks is None or self.networks.hold(client)


@dataclass(frozen=True, slots=True)
class Config:
    """One occurrence; no `zones` stands for those of the block."""

    zones: tuple[str, ...]
    policies: tuple[Policy, ...]


def parse(directive: Directive) -> tuple[Config, ...]:
    """The occurrences in order. Raises CorefileError."""
    cursor = Cursor(directive)
    configs = []
    for zones in cursor.occurrences():
        policies = tuple(_policy(cursor, name, words) for name, words in cursor.options())
        configs.append(Config(tuple(zones), policies))
    return tuple(configs)


def _policy(cursor: Cursor, name: str, words: list[str]) -> Policy:
    action = _ACTIONS.get(name.lower())
    if action is None:
        raise cursor.err(f"unexpected token {quote(name)}; expect 'allow', 'block', 'filter' or 'drop'")
    sections = _sections(cursor, words)
    return Policy(action, _types(cursor, sections["type"]), _networks(cursor, sections["net"]))


def _sections(cursor: Cursor, words: list[str]) -> dict[str, list[str]]:
    """The words behind `type` and those behind `net`, which may stand in any case and more than once."""
    sections: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    while words:
        section = words[0].lower()
        if section not in _SECTIONS:
            raise cursor.err(f"unexpected token {quote(words[0])}; expect 'type | net'")
        end = next((n for n, word in enumerate(words[1:], 1) if word.lower() in _SECTIONS), len(words))
        if end == 1:
            raise cursor.err(f"no token specified in {quote(section)} section")
        sections[section] += words[1:end]
        words = words[end:]
    return sections


def _types(cursor: Cursor, words: list[str]) -> frozenset[int] | None:
    types = set()
    for word in words:
        if word == "*":
            return None
        number = None if word.startswith("TYPE") else consts.type_number(word)
        if number is None:
            raise cursor.err(f"unexpected token {quote(word)}; expect legal QTYPE")
        types.add(number)
    return frozenset(types) if types else None


def _networks(cursor: Cursor, words: list[str]) -> Networks | None:
    if not words or "*" in words:
        return None
    try:
        return Networks.of(word if "/" in word else f"{word}/{128 if ':' in word else 32}" for word in words)
    except ValueError as exc:
        raise cursor.err(f"illegal CIDR notation {quote(str(exc))}") from None
