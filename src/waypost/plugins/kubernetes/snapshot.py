"""The `snapshot` option: the last known state on disk, served at once at a start without an API server."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from waypost.cluster.index import Index
from waypost.cluster.snapshot import BadSnapshot, Header, pack, unpack
from waypost.log import Log
from waypost.metrics.registry import Registry

_SAVE_SECONDS = 30.0


class Snapshot:
    """One index's file. `identity` is whatever must be equal for old entries to be right; `now` gives Unix seconds."""

    def __init__(
        self,
        path: str,
        identity: str,
        index: Index,
        log: Log,
        registry: Registry,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path)
        self._identity = identity
        self._index = index
        self._log = log
        self._now = now
        self._saved_serial = -1
        self._made: float | None = None
        """When the snapshot that is served was made; None once the API server has answered."""
        age = registry.gauge(
            "waypost_kubernetes_snapshot_age_seconds",
            "Age of the snapshot that is served while the API server has not answered yet; 0 otherwise.",
        )
        age.labels().read = self._age

    def load(self) -> bool:
        """Fill the empty index from the file; False, and a line in the log, if there is no usable one."""
        try:
            header, dump = unpack(self._path.read_bytes(), self._identity)
        except FileNotFoundError:
            self._log.info(f"no snapshot at {self._path} yet")
            return False
        except (OSError, BadSnapshot) as exc:
            self._log.warning(f"snapshot {self._path} is not used: {exc}")
            return False
        self._index.restore(dump)
        self._made = header.saved
        age = self._now() - header.saved
        self._log.warning(f"serving the snapshot {self._path}, {age:.0f}s old, until the Kubernetes API answers")
        return True

    async def run(self) -> None:
        """Save the index every so often once it is synced, if it changed."""
        while True:
            await asyncio.sleep(_SAVE_SECONDS)
            await self.save()

    async def save(self) -> None:
        """Save the index if it is synced and changed since; a failure is logged, and tried again the next time."""
        index = self._index
        if not index.synced or index.serial == self._saved_serial:
            return
        serial = index.serial
        try:
            await self._write()
        except OSError as exc:
            self._log.once_a_burst(self._log.error, f"snapshot {self._path} cannot be written: {exc}")
        else:
            self._saved_serial = serial

    async def _write(self) -> None:
        """Beside the file, then in its place: a reader sees the old or the new one, whole."""
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for part in pack(Header(self._identity, self._now()), self._index.dump()):
                    file.write(part)
                    await asyncio.sleep(0)  # queries go first
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
            os.replace(name, self._path)
        except BaseException:
            os.unlink(name)
            raise

    def _age(self) -> float:
        if self._made is None or self._index.synced:
            return 0.0
        return self._now() - self._made
