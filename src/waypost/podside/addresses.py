"""IP addresses and CIDRs as Go's older parser reads them, which Kubernetes keeps for what stands in old objects."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_MAPPED = 0xFFFF << 32
_PREFIX = re.compile(r"[0-9]+", re.ASCII)


class Network(NamedTuple):
    """A CIDR: the network's number of 128 bits (IPv4 is mapped), the prefix length as written, and out of how many."""

    number: int
    prefix: int
    bits: int

    @property
    def host_bits(self) -> int:
        """How many bits tell its addresses apart."""
        return self.bits - self.prefix

    @property
    def is_v4(self) -> bool:
        """True for IPv4, in its own form or mapped."""
        return self.number >> 32 == 0xFFFF

    def at(self, index: int) -> Address | None:
        """The address at an index from the network's, None beyond its end."""
        return unmapped(self.number + index) if index < 1 << self.host_bits else None

    def __str__(self) -> str:
        prefix = self.prefix - 96 if self.is_v4 and self.bits == 128 else self.prefix
        return f"{unmapped(self.number)}/{prefix}"


def parse_lenient(text: str) -> Address | None:
    """An address, leading zeros allowed, `::ffff:a.b.c.d` as IPv4; None if it is none."""
    if ":" not in text:
        return _lenient_v4(text)
    *groups, tail = text.split(":")
    if "." in tail:
        embedded = _lenient_v4(tail)
        if embedded is None:
            return None
        tail = str(embedded)
    else:
        tail = _short(tail)
    try:
        address = IPv6Address(":".join([*map(_short, groups), tail]))
    except ValueError:
        return None
    return None if address.scope_id is not None else address.ipv4_mapped or address


def parse_strict(text: str) -> Address | None:
    """An address without leading zeros, mapped ones left IPv6; None if it is none. No scope ids."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def parse_cidr(text: str) -> Network | None:
    """`ADDRESS/PREFIX` with a lenient address; the bits behind the prefix are cleared. None if it is none."""
    host, slash, prefix = text.partition("/")
    address = parse_lenient(host)
    if not slash or address is None or not _PREFIX.fullmatch(prefix):
        return None
    bits = 128 if ":" in host else 32
    length = int(prefix) if len(prefix.lstrip("0")) <= 3 else bits + 1
    if length > bits:
        return None
    number = _MAPPED | int(address) if address.version == 4 else int(address)
    return Network(number >> (bits - length) << (bits - length), length, bits)


def unmapped(number: int) -> Address:
    """128 bits as an address, mapped ones as IPv4."""
    address = IPv6Address(number)
    return address.ipv4_mapped or address


def _lenient_v4(text: str) -> IPv4Address | None:
    octets = text.split(".")
    if len(octets) != 4 or not all(octet.isascii() and octet.isdigit() for octet in octets):
        return None
    shortened = [*map(_short, octets)]
    if any(len(octet) > 3 or int(octet) > 255 for octet in shortened):
        return None
    return IPv4Address(".".join(shortened))


def _short(digits: str) -> str:
    """Without leading zeros; nothing stays nothing."""
    return digits.lstrip("0") or digits[:1]
