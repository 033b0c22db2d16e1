"""The twelve rules of an address: its DNS and health packets pass by conntrack, and so by kube-proxy's rewriting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

SKIP: Final = "NodeLocal DNS Cache: skip conntrack"
ALLOW: Final = "NodeLocal DNS Cache: allow DNS traffic"
Protocol: TypeAlias = Literal["tcp", "udp"]
Side: TypeAlias = Literal["destination", "source"]
_BOTH: Final[tuple[Protocol, ...]] = ("tcp", "udp")
_TCP: Final[tuple[Protocol, ...]] = ("tcp",)


class Rule(NamedTuple):
    """Packets that come from, or go to, a port of an address."""

    table: str
    chain: str
    protocol: Protocol
    side: Side
    address: str
    port: str

    @property
    def target(self) -> str:
        """What happens to them."""
        return "NOTRACK" if self.table == "raw" else "ACCEPT"

    @property
    def comment(self) -> str:
        """By which the rule is found again."""
        return SKIP if self.table == "raw" else ALLOW

    @property
    def arguments(self) -> list[str]:
        """Behind `iptables -I CHAIN -t TABLE`."""
        address, port = ("-d", "--dport") if self.side == "destination" else ("-s", "--sport")
        matches = ["-p", self.protocol, address, self.address, port, self.port]
        return [*matches, "-j", self.target, "-m", "comment", "--comment", self.comment]


# Table, chain, protocols, side, and whether the port is that of DNS (else of health).
_SHAPES: Final[tuple[tuple[str, str, tuple[Protocol, ...], Side, bool], ...]] = (
    ("raw", "PREROUTING", _BOTH, "destination", True),
    ("filter", "INPUT", _BOTH, "destination", True),
    ("raw", "OUTPUT", _BOTH, "source", True),
    ("filter", "OUTPUT", _BOTH, "source", True),
    ("raw", "OUTPUT", _BOTH, "destination", True),
    ("raw", "OUTPUT", _TCP, "destination", False),
    ("raw", "OUTPUT", _TCP, "source", False),
)


def rules(addresses: Iterable[str], port: str, health_port: str) -> list[Rule]:
    """In the order of NodeLocal DNSCache, which puts each in front of the ones before it."""
    return [
        Rule(table, chain, protocol, side, address, port if is_dns else health_port)
        for address in addresses
        for table, chain, protocols, side, is_dns in _SHAPES
        for protocol in protocols
    ]


def wait_arguments(version: tuple[int, ...]) -> list[str]:
    """How an iptables of this version is told to wait five seconds for its lock."""
    return ["-w", "5"] if version >= (1, 4, 22) else ["-w"] if version >= (1, 4, 20) else []


class Match(NamedTuple):
    """What the rules for several addresses have in common."""

    chain: str
    protocol: Protocol
    side: Side
    port: int


def untracked(found: Iterable[Rule]) -> list[Match]:
    """The NOTRACK rules without their addresses, each once."""
    return list(dict.fromkeys(_matches(found)))


def _matches(found: Iterable[Rule]) -> Iterator[Match]:
    for rule in found:
        if rule.table == "raw":
            yield Match(rule.chain, rule.protocol, rule.side, int(rule.port))
