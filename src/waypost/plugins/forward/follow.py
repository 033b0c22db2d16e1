"""Files and host names among the TO arguments, followed while the server runs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence

from waypost.corefile.errors import CorefileError
from waypost.corefile.quoting import quote
from waypost.log import Log
from waypost.plugins.forward.targets import Target, read_targets
from waypost.toolkit.hostlookup import Found
from waypost.toolkit.upstream_address import UpstreamAddress, UpstreamHost
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_group import UpstreamGroup

_POLL_SECONDS = 5.0
_SHORTEST = 5.0
_LONGEST = 3600.0

LookUp = Callable[[str], Awaitable[Found]]
"""Addresses of a host name, at least one. Raises UpstreamError."""


class Follower:
    """Keeps the members of a group at what the targets name, never at nothing; `prepare` completes an address."""

    def __init__(
        self,
        targets: Sequence[Target],
        group: UpstreamGroup,
        prepare: Callable[[UpstreamAddress], UpstreamAddress],
        look_up: LookUp,
        log: Log,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._targets = targets
        self._group = group
        self._prepare = prepare
        self._look_up = look_up
        self._log = log
        self._now = now
        self._sleep = sleep
        self._paths = [target for target in targets if isinstance(target, str)]
        self._hosts = {target for target in targets if isinstance(target, UpstreamHost)}
        self._found: dict[UpstreamHost, tuple[str, ...]] = {}
        self._due: dict[UpstreamHost, float] = {}
        self._failing: set[UpstreamHost] = set()
        self._marks: list[tuple[int, int, int] | None] = []

    async def begin(self) -> None:
        """Look up every host name. Raises CorefileError if one cannot be found."""
        if not self._hosts:
            return
        outcomes = await asyncio.gather(*map(self._find, self._hosts), return_exceptions=True)
        try:
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
            fresh = read_targets(self._targets, self._found)
        except CorefileError as exc:
            raise exc.with_prefix("plugin/forward: ") from exc
        for warning in fresh.warnings:
            self._log.warning(warning)
        self._group.replace([self._prepare(address) for address in fresh.addresses])

    async def run(self) -> None:
        """Look for changed files every few seconds, and for hosts' addresses when their TTL ends, for ever.

        A file without a usable name server changes nothing, and neither does a look-up that fails.
        """
        while True:
            marks = [_mark(path) for path in self._paths]
            changed = marks != self._marks
            self._marks = marks
            now = self._now()
            for host in [host for host, due in self._due.items() if due <= now]:
                changed |= await self._refresh(host)
            if changed:
                self._take_over()
            await self._sleep(self._pause())

    def _pause(self) -> float:
        due = min(self._due.values(), default=self._now() + _LONGEST) - self._now()
        return max(min(due, _POLL_SECONDS) if self._paths else due, 0.0)

    async def _find(self, host: UpstreamHost) -> None:
        try:
            found = await self._look_up(host.name)
        except UpstreamError as exc:
            raise CorefileError.unlocated(f"failed to resolve {quote(host.name)}: {exc}") from exc
        self._found[host] = found.addresses
        self._due[host] = self._now() + min(max(found.ttl, _SHORTEST), _LONGEST)

    async def _refresh(self, host: UpstreamHost) -> bool:
        """True if there are other addresses now."""
        before = self._found[host]
        try:
            await self._find(host)
        except CorefileError as exc:
            self._due[host] = self._now() + _SHORTEST
            if host not in self._failing:
                self._log.warning(f"upstreams stay as they are: {exc.text}")
            self._failing.add(host)
            return False
        self._failing.discard(host)
        return self._found[host] != before

    def _take_over(self) -> None:
        try:
            fresh = read_targets(self._targets, self._found)
        except CorefileError as exc:
            self._log.warning(f"upstreams stay as they are: {exc.text}")
            return
        addresses = [self._prepare(address) for address in fresh.addresses]
        if addresses == [upstream.address for upstream in self._group.members]:
            return
        for warning in fresh.warnings:
            self._log.warning(warning)
        if addresses:
            self._group.replace(addresses)
            self._log.info(f"upstreams are now {', '.join(map(str, addresses))}")


def _mark(path: str) -> tuple[int, int, int] | None:
    """What changes when the file does; None if there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size
