"""The hosts file on disk: read at start, and again when its time or size has changed."""

from __future__ import annotations

import asyncio
import os
from functools import partial

from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.plugins.hosts.table import Table, parse_table
from waypost.toolkit.background import Background
from waypost.toolkit.zonelist import ZoneList


class HostsFile:
    """Keeps `table` true to the file at `path` and to the lines of the Corefile.

    A file that goes away, or that cannot be read, leaves the table as it was.
    """

    __slots__ = ("_entries", "_inline", "_log", "_modified", "_reverse", "_seen", "_work", "_zones", "path", "table")

    def __init__(
        self, path: str, inline: tuple[str, ...], zones: ZoneList, *, reverse: bool, log: Log, metrics: Registry
    ) -> None:
        self.path = path
        self._inline = "\n".join(inline)
        self._zones = zones
        self._reverse = reverse
        self._log = log
        text = "The combined number of entries in hosts and Corefile."
        self._entries = metrics.gauge("coredns_hosts_entries", text, ("hostsfile",)).labels(path)
        text = "The timestamp of the last reload of hosts file."
        self._modified = metrics.gauge("coredns_hosts_reload_timestamp_seconds", text).labels()
        self._seen: tuple[int, int] | None = None
        self._work = Background()
        self.table: Table = parse_table((self._inline,), zones, reverse=reverse)
        self._entries.set(self.table.entries)

    def read(self) -> None:
        """Look at the file, and read it if its time or size is not the one seen last."""
        found = self._changed()
        if found is not None:
            self._take(*found)

    def follow(self, interval: float) -> None:
        """Look again every `interval` seconds, until `stop`; a large file is parsed beside the event loop."""
        self._work.start(partial(self._follow, interval))

    async def _follow(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            found = await asyncio.to_thread(self._changed)
            if found is not None:
                self._take(*found)

    def _changed(self) -> tuple[Table, os.stat_result] | None:
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if _version(status) == self._seen:
                    return None
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return None
        return parse_table((text, self._inline), self._zones, reverse=self._reverse), status

    def _take(self, table: Table, status: os.stat_result) -> None:
        self._seen = _version(status)
        self.table = table
        self._log.debug(f"Parsed hosts file into {table.entries} entries")
        self._entries.set(table.entries)
        self._modified.set(status.st_mtime)

    async def stop(self) -> None:
        """End the watching."""
        await self._work.stop()


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size
