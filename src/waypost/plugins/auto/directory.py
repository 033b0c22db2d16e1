"""A directory of zone files: which zones are there, which came and which went."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator

from waypost.log import Log
from waypost.toolkit.regexp import Regexp
from waypost.toolkit.zonefile import ZoneFileError
from waypost.toolkit.zonelist import ZoneList
from waypost.toolkit.zonesource import ZoneSource
from waypost.wire import names
from waypost.wire.errors import BadName

_GROUP = re.compile(r"\{(\d+)\}")


class ZoneDirectory:
    """Keeps `zones` true to the files below `path` whose names match `pattern`.

    `template` makes the zone's name of the match: `{1}` stands for what the first group holds. Zones outside of
    `allowed` are left out; of two files for one zone the first in order of path is taken.
    """

    __slots__ = ("_allowed", "_log", "_pattern", "_template", "_unread", "listed", "path", "zones")

    def __init__(self, path: str, pattern: Regexp, template: str, allowed: ZoneList, log: Log) -> None:
        self.path = path
        self._pattern = pattern
        self._template = template
        self._allowed = allowed
        self._log = log
        self._unread: dict[bytes, str] = {}
        self.zones: dict[bytes, ZoneSource] = {}
        self.listed = ZoneList()

    def read(self) -> None:
        """Scan for the first time; faults are only logged."""
        self._take(*self._scan())

    async def refresh(self) -> list[bytes]:
        """Scan again, then look for new content of the zones that stay; gives the zones that are new or changed.

        Files are read beside the event loop.
        """
        before = list(self.zones.values())
        changed = self._take(*await asyncio.to_thread(self._scan))
        for source in before:
            if self.zones.get(source.origin) is source and await source.refresh():
                changed.append(source.origin)
        return changed

    def _scan(self) -> tuple[dict[bytes, str], list[ZoneSource]]:
        """What is there, and the zones of it that are not known yet, read."""
        found: dict[bytes, str] = {}
        for path in self._files():
            origin = self._origin(os.path.basename(path))
            if origin is not None and self._allowed.covers(origin):
                found.setdefault(origin, path)
        added = []
        for origin, path in found.items():
            known = self.zones.get(origin)
            if known is None or known.path != path:
                source = ZoneSource(path, origin, self._log)
                if self._read(source):
                    added.append(source)
        return found, added

    def _files(self) -> Iterator[str]:
        """Links to files are followed, those to directories are not; nor is what a mounted ConfigMap keeps in `..*`."""
        for folder, folders, files in os.walk(self.path, onerror=self._unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith(".."))
            yield from (os.path.join(folder, name) for name in sorted(files))

    def _unreadable(self, error: OSError) -> None:
        self._log.once_a_burst(self._log.warning, f"Failed to scan directory {error.filename}: {error.strerror}")

    def _origin(self, filename: str) -> bytes | None:
        found = self._pattern.search(filename)
        if found is None:
            return None
        groups = ("" if group is None else group for group in (found[0], *found.groups()))
        numbered = {str(number): group for number, group in enumerate(groups)}
        try:
            return names.from_text(_GROUP.sub(lambda wanted: numbered.get(wanted[1], ""), self._template)).lower()
        except BadName:
            return None

    def _read(self, source: ZoneSource) -> bool:
        """A broken file is complained of once."""
        try:
            source.read()
        except (OSError, ZoneFileError) as exc:
            if self._unread.get(source.origin) != str(exc):
                self._unread[source.origin] = str(exc)
                self._log.warning(f"Failed to load zone {names.to_text(source.origin)}: {exc}")
            return False
        self._unread.pop(source.origin, None)
        return True

    def _take(self, found: dict[bytes, str], added: list[ZoneSource]) -> list[bytes]:
        """Let go of zones whose files are gone, take the new ones."""
        kept = {origin: source for origin, source in self.zones.items() if origin in found}
        for origin in self.zones.keys() - kept.keys():
            self._log.info(f"Deleting zone {names.to_text(origin)}")
        for source in added:
            kept[source.origin] = source
            self._log.info(f'Inserting zone {names.to_text(source.origin)} from "{source.path}"')
        self.zones = kept
        self.listed = ZoneList(frozenset(kept))
        return [source.origin for source in added]
