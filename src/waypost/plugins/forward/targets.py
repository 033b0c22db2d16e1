"""The TO arguments as addresses, and the resolv.conf files among them, which are followed while the server runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from waypost.corefile.addresses import parse_ip
from waypost.corefile.errors import CorefileError
from waypost.corefile.quoting import quote
from waypost.log import Log
from waypost.toolkit.upstream_address import UpstreamAddress, parse_upstream
from waypost.toolkit.upstream_group import UpstreamGroup

MAX_UPSTREAMS = 15
_POLL_SECONDS = 5.0

Target = UpstreamAddress | str
"""An address, or the path of a file in the format of resolv.conf."""


class Targets(NamedTuple):
    """Addresses in file order without repetitions, and sentences for the log."""

    addresses: tuple[UpstreamAddress, ...]
    warnings: tuple[str, ...]


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """TO arguments; what is no address is taken for a path. Raises CorefileError."""
    targets: list[Target] = []
    for text in texts:
        try:
            targets.append(parse_upstream(text, "forward") or text)
        except ValueError as exc:
            raise CorefileError.unlocated(str(exc)) from exc
    return tuple(targets)


def read_targets(targets: Sequence[Target]) -> Targets:
    """Every address of the targets, the files read now. Raises CorefileError.

    An address that appears twice counts once, even if over another transport. Two kinds of mistake are let pass with
    a warning, as CoreDNS does: a port that is none, and a name server in a file that is no IP address.
    """
    addresses: dict[tuple[str, str, int], UpstreamAddress] = {}
    warnings: list[str] = []
    for target in targets:
        found = [target] if isinstance(target, UpstreamAddress) else _read_file(target, warnings)
        for address in found:
            if not address.port:
                warnings.append(f"upstream {address} has no valid port and will never answer")
            addresses.setdefault((address.ip.lower(), address.scope, address.port), address)
    if len(addresses) > MAX_UPSTREAMS:
        raise CorefileError.unlocated(f"more than {MAX_UPSTREAMS} TOs configured: {len(addresses)}")
    return Targets(tuple(addresses.values()), tuple(warnings))


async def follow_files(
    targets: Sequence[Target],
    group: UpstreamGroup,
    prepare: Callable[[UpstreamAddress], UpstreamAddress],
    log: Log,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Look for changed files every few seconds, for ever. A file without a usable name server changes nothing."""
    paths = [target for target in targets if isinstance(target, str)]
    seen: list[tuple[int, int, int] | None] = []
    while True:
        marks = [_mark(path) for path in paths]
        if marks != seen:
            seen = marks
            _take_over(targets, group, prepare, log)
        await sleep(_POLL_SECONDS)


def _take_over(
    targets: Sequence[Target], group: UpstreamGroup, prepare: Callable[[UpstreamAddress], UpstreamAddress], log: Log
) -> None:
    try:
        fresh = read_targets(targets)
    except CorefileError as exc:
        log.warning(f"upstreams stay as they are: {exc.text}")
        return
    addresses = [prepare(address) for address in fresh.addresses]
    if addresses == [upstream.address for upstream in group.members]:
        return
    for warning in fresh.warnings:
        log.warning(warning)
    if addresses:
        group.replace(addresses)
        log.info(f"upstreams are now {', '.join(map(str, addresses))}")


def _read_file(path: str, warnings: list[str]) -> list[UpstreamAddress]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            names = _nameservers(file.read())
    except (OSError, ValueError) as exc:
        hint = "" if "/" in path or not _may_be_host(path) else " (host names are not supported yet)"
        raise CorefileError.unlocated(f"not an IP address or file: {quote(path)}{hint}") from exc
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


def _nameservers(text: str) -> list[str]:
    lines = (line.split() for line in text.splitlines())
    return [fields[1] for fields in lines if len(fields) > 1 and fields[0] == "nameserver"]


def _may_be_host(text: str) -> bool:
    return any(char.isalpha() for char in text) and ":" not in text


def _mark(path: str) -> tuple[int, int, int] | None:
    """What changes when the file does; None if there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size
