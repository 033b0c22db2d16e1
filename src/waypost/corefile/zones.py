"""Server block labels and ZONES arguments to zone names.

    label := [ scheme "://" ] ( zone | address "/" length ) [ ":" port ]

A network in CIDR notation stands for its reverse zones: its length is rounded up to a label boundary (RFC 1035
section 3.5: 8 bits, RFC 3596 section 2.5: 4 bits), which makes at most 128 zones.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from typing import Final, NamedTuple

from waypost.corefile.addresses import parse_network
from waypost.corefile.errors import CorefileError
from waypost.corefile.quoting import quote
from waypost.corefile.values import parse_int

# Schemes of listeners, with their port if it is not the server's default.
SCHEME_PORTS: Final = {"dns": "", "tls": "853", "quic": "853", "grpc": "443", "https": "443", "https3": "443"}
IGNORED_SCHEME: Final = "unix"  # taken by CoreDNS, which then opens no listener for it
MAX_ZONE_OCTETS: Final = 255
MAX_LABEL_OCTETS: Final = 63

CHARACTER: Final = re.compile(rb"\\(?:[01][0-9]{2}|2[0-4][0-9]|25[0-5]|[^0-9])|[^\\]")
PREFERRED_LABEL: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class ZoneAddress(NamedTuple):
    """A zone and where to listen for it. `port` is as written, in canonical digits: its range is not checked."""

    scheme: str
    zone: str
    port: str


def parse_label(text: str, default_port: str) -> list[ZoneAddress]:
    """What a server block label asks to serve; several zones for a network, none for `unix://`.

    `default_port` is that of plain DNS. Raises CorefileError, without file and line as in CoreDNS.
    """
    scheme, rest = split_scheme(text)
    if scheme == IGNORED_SCHEME:
        return []
    try:
        zones, port = split_zones(rest)
    except ValueError as error:
        raise CorefileError.unlocated(f"error inspecting server blocks: {error}") from error
    port = port or SCHEME_PORTS[scheme] or default_port
    return [ZoneAddress(scheme, zone, port) for zone in zones]


def zones_of_argument(text: str) -> list[str]:
    """The zone names that an argument of a plugin stands for; scheme and port are dropped, what is no zone is none."""
    try:
        return split_zones(split_scheme(text)[1])[0]
    except ValueError:
        return []


def normalize_name(text: str) -> str:
    """`text` as an absolute name in lower case (ASCII only, as DNS compares)."""
    backslashes = len(text.removesuffix(".")) - len(text.removesuffix(".").rstrip("\\"))
    absolute = text.endswith(".") and backslashes % 2 == 0
    return (text if absolute else text + ".").translate(LOWER)


def is_preferred_syntax(zone: str) -> bool:
    """Whether an absolute name follows RFC 1035 section 2.3.1; the root and reverse zones always do."""
    if zone == "." or zone.endswith((".in-addr.arpa.", ".ip6.arpa.")):
        return True
    return zone.endswith(".") and all(PREFERRED_LABEL.fullmatch(label) for label in zone[:-1].split("."))


def split_scheme(text: str) -> tuple[str, str]:
    """Scheme and rest; an unknown scheme is part of the name, and the scheme then `dns`."""
    scheme, separator, rest = text.partition("://")
    if separator and (scheme in SCHEME_PORTS or scheme == IGNORED_SCHEME):
        return scheme, rest
    return "dns", text


def split_zones(text: str) -> tuple[list[str], str]:
    """The zones and the port ("" if none is given) of a label without its scheme. Raises ValueError."""
    host, colon, digits = text.rpartition(":")
    if not digits:
        raise ValueError(f"expecting data after last colon: {quote(text)}")
    port = ""
    if colon:
        try:
            port = str(parse_int(digits))
        except ValueError:
            host = text
    else:
        host = text
    check_zone(host)
    try:
        network = parse_network(host)
    except ValueError:
        return [normalize_name(host)], port
    if isinstance(network, IPv6Network) and host.startswith((":", "0")):
        raise ValueError(f"invalid CIDR {host}")
    return reverse_zones(network), port


def check_zone(text: str) -> None:
    """Raises ValueError unless `text` is a domain name of sane size; any character is allowed in it."""
    octets = text.encode("utf-8", "surrogatepass")
    if len(octets) > MAX_ZONE_OCTETS:
        raise ValueError(f"specified zone is too long: {len(octets)} > {MAX_ZONE_OCTETS}")
    if text == ".":
        return
    labels = label_lengths(octets)
    if not labels or min(labels) < 1 or max(labels) > MAX_LABEL_OCTETS or sum(labels) + len(labels) >= MAX_ZONE_OCTETS:
        raise ValueError(f"zone is not a valid domain name: {text}")


def label_lengths(name: bytes) -> list[int]:
    r"""Octets in each label of a name in presentation form, `\.` and `\DDD` counting as one; [] for a bad escape."""
    if not name or len(CHARACTER.sub(b"", name)) > 0:
        return []
    lengths = [0]
    last = b""
    for character in CHARACTER.finditer(name):
        last = character[0]
        if last == b".":
            lengths.append(0)
        else:
            lengths[-1] += 1
    return lengths[:-1] if last == b"." else lengths


def reverse_zones(network: IPv4Network | IPv6Network) -> list[str]:
    """The reverse zones that cover `network` exactly, in order of address."""
    bits = 8 if isinstance(network, IPv4Network) else 4
    count = -(-network.prefixlen // bits)
    suffix = "in-addr.arpa." if bits == 8 else "ip6.arpa."
    zones = []
    for subnet in network.subnets(new_prefix=count * bits):
        address = subnet.network_address.packed
        units = list(address) if bits == 8 else [nibble for octet in address for nibble in divmod(octet, 16)]
        labels = [f"{unit:d}." if bits == 8 else f"{unit:x}." for unit in reversed(units[:count])]
        zones.append("".join(labels) + suffix)
    return zones
