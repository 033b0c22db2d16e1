"""Addresses, ports and networks in text form, read and refused as Go's net package does.

All functions raise ValueError with Go's text. They are for reading configuration, not for the way of a query.
"""

from __future__ import annotations

import ipaddress
import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

MAX_PORT: Final = 65_535
PREFIX_LENGTH: Final = re.compile("0{,100}[0-9]{1,3}")


def split_host_port(text: str) -> tuple[str, str]:
    """Host and port of `HOST:PORT` or `[HOST]:PORT`; either may be empty and neither is checked further."""
    host, colon, port = text.rpartition(":")
    if not colon:
        raise address_error(text, "missing port in address")
    if not host.startswith("["):
        if ":" in host:
            raise address_error(text, "too many colons in address" + bracketed_hint(text))
    elif "]" not in text:
        raise address_error(text, "missing ']' in address")
    elif not host.endswith("]") or host.index("]") != len(host) - 1:
        behind = text[text.index("]") + 1 :]
        raise address_error(text, f"{'too many colons' if behind.startswith(':') else 'missing port'} in address")
    else:
        host = host[1:-1]
    for bracket in "[]":
        if bracket in host or bracket in port:
            raise address_error(text, f"unexpected '{bracket}' in address")
    return host, port


def address_error(text: str, reason: str) -> ValueError:
    return ValueError(f"address {text}: {reason}" if text else reason)


def bracketed_hint(text: str) -> str:
    """How to write `text` if it is an IPv6 address with or without a port; Go leaves its users to guess."""
    host, _, port = text.rpartition(":")
    if port.isascii() and port.isdigit() and is_ip(host.partition("%")[0]):
        return f" (an IPv6 address needs brackets: [{host}]:{port})"
    return f" (an IPv6 address needs brackets and a port: [{text}]:PORT)" if is_ip(text.partition("%")[0]) else ""


def join_host_port(host: str, port: str | int) -> str:
    """`HOST:PORT`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_port(text: str) -> int:
    """A port number from 0 to 65535."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PORT)) and int(text) <= MAX_PORT):
        raise address_error(text, "invalid port")
    return int(text)


def parse_ip(text: str) -> IPv4Address | IPv6Address:
    """An address without a zone id, IPv4 in four decimal parts without leading zeros."""
    if not is_ip(text):
        raise ValueError(f"invalid IP address: {text}")
    return ipaddress.ip_address(text)


def is_ip(text: str) -> bool:
    """Whether `parse_ip` takes `text`."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def parse_network(text: str) -> IPv4Network | IPv6Network:
    """A network in CIDR notation, a whole address before the slash; host bits are cleared."""
    address, _, length = text.partition("/")
    if PREFIX_LENGTH.fullmatch(length) and is_ip(address):
        try:
            return ipaddress.ip_network(f"{address}/{int(length)}", strict=False)
        except ValueError:  # longer than the address
            pass
    raise ValueError(f"invalid CIDR address: {text}")
