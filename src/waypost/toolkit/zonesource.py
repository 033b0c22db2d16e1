"""A zone file that is followed: the zone as it was read last, and whether there is a new one."""

from __future__ import annotations

import asyncio
import os

from waypost.log import Log
from waypost.toolkit.zonedata import Zone
from waypost.toolkit.zonefile import ZoneFileError, load_zone
from waypost.wire import names


class ZoneSource:
    """Keeps `zone` true to the file at `path`, by its SOA's serial or, with `by_mtime`, by the time of its last change.

    A file that goes away or is broken leaves the zone as it was; None: there was never one that could be read.
    """

    __slots__ = ("_by_mtime", "_fault", "_log", "_mtime", "origin", "path", "zone")

    def __init__(self, path: str, origin: bytes, log: Log, *, by_mtime: bool = False) -> None:
        self.path = path
        self.origin = origin
        self.zone: Zone | None = None
        self._by_mtime = by_mtime
        self._mtime = -1
        self._log = log
        self._fault = ""

    def read(self) -> None:
        """Read the file for the first time. Raises OSError if it cannot be opened, else ZoneFileError."""
        found = self._changed()
        if found is not None:
            self.zone, self._mtime = found

    async def refresh(self) -> bool:
        """Look for a new zone; True if there is one. The file is read beside the event loop, faults are logged once."""
        try:
            found = await asyncio.to_thread(self._changed)
        except (OSError, ZoneFileError) as exc:
            self._complain(f"Failed to reload zone {self._where()}: {exc}")
            return False
        self._fault = ""
        if found is None:
            return False
        self.zone, self._mtime = found
        self._log.info(f"Successfully reloaded zone {self._where()} with {self.zone.serial} SOA serial")
        return True

    def _where(self) -> str:
        return f'"{names.to_text(self.origin)}" in "{self.path}"'

    def _complain(self, text: str) -> None:
        if text != self._fault:
            self._fault = text
            self._log.error(text)

    def _changed(self) -> tuple[Zone, int] | None:
        mtime = os.stat(self.path).st_mtime_ns
        if self._by_mtime and mtime == self._mtime:
            return None
        serial = self.zone.serial if self.zone is not None and not self._by_mtime else None
        zone = load_zone(self.path, self.origin, serial)
        return (zone, mtime) if zone is not None else None
