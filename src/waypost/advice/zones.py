"""Zones that directives name in their arguments, and how zones lie within each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from waypost.advice.subject import Block, Subject, Use
from waypost.corefile.model import Token
from waypost.corefile.zones import zones_of_argument

ROOT: Final = "."
REVERSE: Final = ("in-addr.arpa.", "ip6.arpa.")

# Where the ZONES arguments of a directive begin.
FIRST_ZONE: Final = {
    "acl": 0, "auto": 0, "dnssec": 0, "etcd": 0, "file": 1, "hosts": 1, "k8s_external": 0, "kubernetes": 0,
    "metadata": 0, "nomad": 0, "secondary": 0, "sign": 1, "template": 2, "transfer": 0, "tsig": 0,
}  # fmt: skip


def within(name: str, zone: str) -> bool:
    """Whether an absolute name is a zone or lies below it; both in lower case."""
    return zone in (ROOT, name) or name.endswith(f".{zone}")


def meet(zone: str, other: str) -> bool:
    """Whether two zones have names in common."""
    return within(zone, other) or within(other, zone)


def is_reverse(zone: str) -> bool:
    """Whether it is a reverse zone, or the tree of all."""
    return any(within(zone, tree) for tree in REVERSE)


def zone_arguments(name: str, use: Use) -> tuple[Token, ...]:
    """The arguments that name zones."""
    if name in ("forward", "grpc"):
        return use.args[:1]
    if name == "autopath":
        return use.args[:-1]
    if name == "cache":
        return use.args[1:] if use.args and use.args[0].text.lstrip("+-").isdigit() else use.args
    return use.args[FIRST_ZONE[name] :] if name in FIRST_ZONE else ()


def zones_named(name: str, use: Use) -> Iterator[tuple[Token, str]]:
    """Each zone that the arguments stand for, with its argument; of a forward line only the first."""
    for argument in zone_arguments(name, use):
        zones = zones_of_argument(argument.text)
        yield from ((argument, zone) for zone in (zones[:1] if name == "forward" else zones))


def zones_of(name: str, use: Use, block: Block) -> tuple[str, ...]:
    """The zones that a directive is for: those it names, else the block's."""
    return tuple(zone for _, zone in zones_named(name, use)) or block.zones


def falls_through(use: Use, zone: str) -> bool:
    """Whether `fallthrough` lets through what is not found in a zone."""
    option = use.last("fallthrough")
    if option is None:
        return False
    if not option.values:
        return True
    return any(within(zone, other) for word in option.words for other in zones_of_argument(word))


def more_special(block: Block, zone: str, subject: Subject) -> Token | None:
    """The label of another block that takes all questions for a zone away from a block that includes it, if any.

    Blocks with a view take only some questions. Addresses that `bind` sets apart are not compared.
    """
    own = [address for _, address in block.addresses if within(zone, address.zone)]
    for other in subject.blocks:
        if other is block or other.has("view", "bind") or block.has("bind"):
            continue
        for label, theirs in other.addresses:
            if own and within(zone, theirs.zone) and all(_takes(theirs.zone, theirs.port, a.zone, a.port) for a in own):
                return label
    return None


def _takes(zone: str, port: str, own: str, own_port: str) -> bool:
    return port == own_port and zone != own and within(zone, own)


def texts(zones: Iterable[str]) -> str:
    """Zones for people."""
    return " ".join(zones)
