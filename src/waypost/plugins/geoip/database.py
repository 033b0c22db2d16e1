"""A MaxMind DB file, read through maxminddb."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import maxminddb


class DatabaseError(Exception):
    """A file that cannot be used; `str()` says why."""


class Database:
    """Records by address. The file may change or vanish once it is open: it is not looked at again."""

    __slots__ = ("_reader", "_v4_only", "kind")

    def __init__(self, path: str) -> None:
        """Raises DatabaseError."""
        self._reader = _open(path)
        metadata = self._reader.metadata()
        self.kind = str(metadata.database_type)
        self._v4_only = metadata.ip_version == 4

    def look_up(self, address: str) -> object:
        """The record of an address in text, None if there is none. Raises DatabaseError if the database is damaged."""
        import maxminddb

        if self._v4_only and ":" in address:
            return None
        try:
            return self._reader.get(address)
        except maxminddb.InvalidDatabaseError as exc:
            raise DatabaseError(str(exc)) from exc


def _open(path: str) -> maxminddb.Reader:
    """A reader of a private copy: a file that somebody cuts short under a memory map would end the process."""
    import maxminddb

    try:
        with open(path, "rb") as file, open(os.memfd_create("geoip"), "w+b") as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            return maxminddb.open_database(f"/proc/self/fd/{copy.fileno()}", maxminddb.MODE_AUTO)
    except maxminddb.InvalidDatabaseError as exc:
        raise DatabaseError(f"{path}: expected a MaxMind DB file") from exc
    except OSError as exc:
        raise DatabaseError(f"open {path}: {(exc.strerror or str(exc)).lower()}") from exc
