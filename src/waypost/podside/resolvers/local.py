"""Names that are answered without a query: addresses written as text, and what stands in /etc/hosts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

from waypost.podside.addresses import parse_strict
from waypost.podside.resolvers.lookup import Outcome

_LOOPBACK = ("127.0.0.1", "::1")
_PART = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*", re.ASCII)
_MAX_DIGITS = 16


def inet_aton(text: str) -> str | None:
    """An IPv4 address in one to four parts, each decimal, octal or hexadecimal: `10.1` is 10.0.0.1."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_PART.fullmatch(part) and len(part) <= _MAX_DIGITS for part in parts):
        return None
    *octets, rest = map(_number, parts)
    if any(octet > 255 for octet in octets) or rest >= 1 << 8 * (4 - len(octets)):
        return None
    number = rest
    for place, octet in enumerate(octets):
        number |= octet << 8 * (3 - place)
    return str(IPv4Address(number))


def ipv6(text: str) -> str | None:
    """An IPv6 address, a scope id allowed."""
    try:
        return str(IPv6Address(text))
    except ValueError:
        return None


def libc_literal(text: str) -> str | None:
    """What glibc and musl take for an address."""
    return inet_aton(text) or ipv6(text)


def strict_literal(text: str) -> str | None:
    """What Go and c-ares take for an address."""
    address = parse_strict(text)
    return str(address) if address is not None else ipv6(text)


def from_literal(address: str, types: Sequence[str]) -> Outcome:
    """The address, if it is of a family that is asked for."""
    return _of_family((address,), types)


def from_hosts(types: Sequence[str]) -> Outcome:
    """`localhost`, which a container's /etc/hosts always has."""
    return _of_family(_LOOPBACK, types)


def _of_family(addresses: Sequence[str], types: Sequence[str]) -> Outcome:
    fitting = tuple(address for address in addresses if ("AAAA" if ":" in address else "A") in types)
    return Outcome("addresses", fitting) if fitting else Outcome("nxdomain")


def _number(part: str) -> int:
    if part[:2] in ("0x", "0X"):
        return int(part, 16)
    return int(part, 8 if part[0] == "0" else 10)
