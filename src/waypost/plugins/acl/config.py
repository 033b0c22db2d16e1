"""What a Corefile says of acl, as policies.

acl [ZONES...] {
    allow|block|filter|drop [type QTYPE...] [net NETWORK...]
}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.corefile.networks import Networks
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
class Policy:
    """An action for types and networks; None stands for all. `place` is where it stands, `Corefile:12`."""

    action: Action
    types: frozenset[int] | None = None
    networks: Networks | None = None
    place: str = field(default="", compare=False)

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
    place = f"{cursor.file}:{cursor.line}"
    sections = _sections(cursor, words)
    return Policy(action, _types(cursor, sections["type"]), _networks(cursor, sections["net"]), place)


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
