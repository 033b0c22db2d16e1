"""The TO arguments: addresses, host names, and files in the format of resolv.conf."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from waypost.corefile.addresses import parse_ip
from waypost.corefile.errors import CorefileError
from waypost.corefile.quoting import quote
from waypost.toolkit.resolvconf import name_servers
from waypost.toolkit.upstream_address import (
    QUIC,
    UpstreamAddress,
    UpstreamHost,
    parse_upstream,
    parse_upstream_host,
)

MAX_UPSTREAMS = 15

Target = UpstreamAddress | UpstreamHost | str
"""An address, a host name, or the path of a file in the format of resolv.conf."""


class Targets(NamedTuple):
    """Addresses in file order without repetitions, and sentences for the log."""

    addresses: tuple[UpstreamAddress, ...]
    warnings: tuple[str, ...]


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """TO arguments. What has no scheme and is no address is taken for a path. Raises CorefileError."""
    targets: list[Target] = []
    for text in texts:
        try:
            host = parse_upstream_host(text, "forward") if "://" in text else None
            targets.append(parse_upstream(text, "forward") or host or text)
        except ValueError as exc:
            raise CorefileError.unlocated(str(exc)) from exc
    return tuple(targets)


def tell_hosts(targets: Iterable[Target]) -> tuple[Target, ...]:
    """The same with every path that does not exist taken for a host name, if it can be one."""
    return tuple(
        parse_upstream_host(target, "forward") or target
        if isinstance(target, str) and not os.path.exists(target)
        else target
        for target in targets
    )


def read_targets(targets: Sequence[Target], found: Mapping[UpstreamHost, Sequence[str]]) -> Targets:
    """Every address of the targets: the files read now, the hosts as `found`. Raises CorefileError.

    An address that appears twice counts once, even if over another transport, save that QUIC's ports are others. Two
    kinds of mistake are let pass with a warning, as CoreDNS does: a port that is none, and a name server in a file
    that is no IP address.
    """
    addresses: dict[tuple[str, str, int, bool], UpstreamAddress] = {}
    warnings: list[str] = []
    for target in targets:
        for address in _addresses(target, found, warnings):
            if not address.port:
                warnings.append(f"upstream {address} has no valid port and will never answer")
            key = (address.ip.lower(), address.scope, address.port, address.scheme == QUIC)
            addresses.setdefault(key, address)
    if len(addresses) > MAX_UPSTREAMS:
        raise CorefileError.unlocated(f"more than {MAX_UPSTREAMS} TOs configured: {len(addresses)}")
    return Targets(tuple(addresses.values()), tuple(warnings))


def _addresses(
    target: Target, found: Mapping[UpstreamHost, Sequence[str]], warnings: list[str]
) -> list[UpstreamAddress]:
    if isinstance(target, UpstreamAddress):
        return [target]
    if isinstance(target, UpstreamHost):
        return [target.at(ip) for ip in found.get(target, ())]
    return _read_file(target, warnings)


def _read_file(path: str, warnings: list[str]) -> list[UpstreamAddress]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            names = name_servers(file.read())
    except (OSError, ValueError) as exc:
        raise CorefileError.unlocated(f"not an IP address or file: {quote(path)}") from exc
    if not names:
        raise CorefileError.unlocated("no nameservers found")
    addresses = []
    for name in names:
        address = None if "://" in name else parse_upstream(name if ":" in name else name + ":53", "forward")
        if address is None:
            warnings.append(f"nameserver {name} in {path} is not an IP address and is ignored")
            continue
        if parse_ip(address.ip).is_loopback:
            warnings.append(f"nameserver {name} in {path} is a loopback address: in a pod that is the pod itself")
        addresses.append(address)
    return addresses
