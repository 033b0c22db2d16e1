"""Looks after the signed files: made when they are not there, and made again when they are due."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import dns.exception

from waypost.corefile.quoting import quote
from waypost.log import Log
from waypost.plugins.sign.lifetime import CHECK_EVERY, Lifetime, Signature, time_text, why_due
from waypost.plugins.sign.signing import sign_zone, zone_lines, zone_to_sign
from waypost.toolkit.background import Background
from waypost.toolkit.dnssec_keys import Key
from waypost.toolkit.zonedata import ZoneError
from waypost.toolkit.zonetext import ZoneTextError, read_records
from waypost.wire import consts, names
from waypost.wire.record import Record

_FAULTS: Final = (OSError, ZoneTextError, ZoneError, dns.exception.DNSException)
# Among so many records at the head of a file the signatures of the SOA are looked for.
_HEAD: Final = 100
_COVERED, _EXPIRATION, _INCEPTION, _TAG = slice(0, 2), slice(8, 12), slice(12, 16), slice(16, 18)
_SOA: Final = consts.TYPE_SOA.to_bytes(2, "big")


@dataclass(frozen=True, slots=True)
class SignedZone:
    """A zone to look after: `origin` in wire form and lower case, from the file `source` into `target`."""

    origin: bytes
    source: str
    target: str
    keys: tuple[Key, ...]
    lifetime: Lifetime

    @property
    def title(self) -> str:
        """Its name as log lines have it."""
        return quote(names.to_text(self.origin))

    @property
    def key_tags(self) -> list[int]:
        """Those of its keys."""
        return [key.tag for key in self.keys]


class Signer:
    """Looks at every zone once live, and again every five hours.

    The work is done in a thread, in small steps: a thread of Python that computes holds up the event loop. `now` gives
    seconds since 1970.
    """

    __slots__ = ("_log", "_now", "_sleep", "_stopping", "_work", "_zones")

    def __init__(
        self,
        zones: Sequence[SignedZone],
        log: Log,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._zones = tuple(zones)
        self._log = log
        self._now = now
        self._sleep = sleep
        self._stopping = False
        self._work = Background()

    def start(self) -> None:
        """Begin to look; needs the running event loop."""
        self._work.start(self._follow)

    async def stop(self) -> None:
        """End it, and what is being signed: no file is written any more."""
        self._stopping = True
        await self._work.stop()

    async def _follow(self) -> None:
        for zone in self._zones:
            if not await self._look_after(zone):
                where = f"{zone.title} in {quote(zone.target)}"
                self._log.info(f"Skipping signing zone {where}: signatures are valid")
        while True:
            await self._sleep(CHECK_EVERY)
            for zone in self._zones:
                await self._look_after(zone)

    async def _look_after(self, zone: SignedZone) -> bool:
        """Sign the zone if it is time; False if it is not."""
        reason = await asyncio.to_thread(why_sign, zone, int(self._now()))
        if not reason:
            return False
        started = self._now()
        following = time_text(started + CHECK_EVERY)
        tags = quote(",".join(map(str, zone.key_tags)))
        self._log.info(f"Signing {zone.title} because {reason}")
        try:
            await asyncio.to_thread(self._sign, zone, int(started))
        except _FAULTS as exc:
            elapsed = self._now() - started
            text = f"Error signing {zone.title} with key tags {tags} in {elapsed:f}s: {exc}, next: {following}"
            self._log.warning(text)
        else:
            self._log.info(
                f"Successfully signed zone {zone.title} in {quote(zone.target)} with key tags {tags} and {int(started)}"
                f" SOA serial, elapsed {self._now() - started:f}, next: {following}"
            )
        return True

    def _sign(self, zone: SignedZone, now: int) -> None:
        records = self._paused(read_records(zone.source, zone.origin))
        signed = sign_zone(zone_to_sign(zone.origin, records), zone.keys, now, zone.lifetime.at(now), pause=self._pause)
        write_whole(zone.target, zone_lines(signed), self._pause)

    def _paused(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self._pause()
            yield record

    def _pause(self) -> None:
        """Let go of the interpreter for a moment, so that the event loop gets it if it waits."""
        time.sleep(0)
        if self._stopping:
            raise OSError("stopped")


def why_sign(zone: SignedZone, now: int) -> str:
    """Why the zone should be signed now; empty if it should not."""
    try:
        head = islice(read_records(zone.target, zone.origin), _HEAD)
        reason = why_due(list(_signatures(head)), zone.key_tags, now)
        if not reason and os.stat(zone.source).st_mtime_ns > os.stat(zone.target).st_mtime_ns:
            reason = f"{zone.source} is newer"
    except OSError as exc:
        if exc.filename == zone.source:
            return ""
        return f"open {exc.filename}: {(exc.strerror or str(exc)).lower()}"
    except ZoneTextError as exc:
        return str(exc)
    return reason


def _signatures(records: Iterable[Record]) -> Iterator[Signature]:
    for _, rtype, _, _, rdata in records:
        if rtype == consts.TYPE_RRSIG and rdata[_COVERED] == _SOA:
            expiration, inception, tag = (
                int.from_bytes(rdata[part], "big") for part in (_EXPIRATION, _INCEPTION, _TAG)
            )
            yield Signature(inception, expiration, tag)


def write_whole(path: str, lines: Iterable[str], pause: Callable[[], None]) -> None:
    """Put a file in place of what is there, in one step, so that nobody reads half of it. Raises OSError."""
    descriptor, temporary = tempfile.mkstemp(prefix="signed-", dir=os.path.dirname(path) or ".")
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            for line in lines:
                file.write(line + "\n")
                pause()
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
