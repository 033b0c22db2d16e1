"""What the `transfer` directive says: one rule for each occurrence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from waypost.corefile.addresses import is_ip
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.toolkit.upstream_address import UpstreamAddress, parse_upstream
from waypost.toolkit.zonelist import ZoneList, zones_of
from waypost.wire import addr

_ANYBODY = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may have these zones: everybody, or clients at the addresses of `targets`, which are notified of changes.

    `clients` are the same addresses, packed. `source` is the local address to notify from, empty for any.
    """

    zones: ZoneList
    anybody: bool
    clients: frozenset[bytes]
    targets: tuple[UpstreamAddress, ...]
    source: str = ""

    def admits(self, client: bytes | None) -> bool:
        """True if a client with this packed address may have the zones."""
        return self.anybody or client in self.clients


@dataclass(frozen=True, slots=True)
class Config:
    """The rules in file order."""

    rules: tuple[Rule, ...]

    def rule_for(self, name: bytes) -> Rule | None:
        """The rule with the longest zone that the lower-case name lies in; the first of equal ones."""
        best, longest = None, b""
        for rule in self.rules:
            zone = rule.zones.match(name)
            if zone is not None and len(zone) > len(longest):
                best, longest = rule, zone
        return best


@dataclass(slots=True)
class _Draft:
    anybody: bool = False
    targets: list[UpstreamAddress] = field(default_factory=list)
    source: str = ""


def parse(directive: Directive, zones: tuple[bytes, ...]) -> Config:
    """Read the directive; `zones` are the block's own. Raises CorefileError."""
    cursor = Cursor(directive)
    rules = []
    for args in cursor.occurrences():
        draft = _Draft()
        for name, values in cursor.options():
            option = _OPTIONS.get(name)
            if option is None:
                raise cursor.err(f"unknown property {quote(name)}")
            option(cursor, draft, values)
        if not draft.anybody and not draft.targets:
            raise cursor.err("'to' is required")
        packed = (addr.pack(target.ip) for target in draft.targets)
        clients = frozenset(address for address in packed if address is not None)
        rules.append(Rule(zones_of(args, zones), draft.anybody, clients, tuple(draft.targets), draft.source))
    return Config(tuple(rules))


def _to(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    for text in values:
        if text == _ANYBODY:
            draft.anybody = True
            continue
        target = None if "://" in text else parse_upstream(text, "transfer")
        if target is None:
            raise _no_address(text)
        draft.targets.append(target)


def _source(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if len(values) != 1:
        raise cursor.arg_err()
    if not is_ip(values[0]):
        raise _no_address(values[0])
    draft.source = values[0]


def _no_address(text: str) -> CorefileError:
    return CorefileError.unlocated(f"must specify an IP address: `{text}'")


_OPTIONS: dict[str, Callable[[Cursor, _Draft, list[str]], None]] = {"to": _to, "source": _source}
