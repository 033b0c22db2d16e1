"""Manifests in files and folders as a source of the cluster's objects, in place of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from waypost.cluster.objects import EndpointSlice, Namespace, Object, Pod, Service
from waypost.kube.manifest_files import FileState, Listing, find, read_files
from waypost.manifests.addresses import Ranges
from waypost.manifests.problem import Problem
from waypost.manifests.resolve import resolve

POLL_SECONDS = 0.25
MAX_SCANS = 3  # after so many looks a change is read though the files are still changing
SLICE = 256  # objects handed on before the event loop gets a turn

STRUCTS: dict[str, type[Object]] = {
    "Namespace": Namespace,
    "Service": Service,
    "EndpointSlice": EndpointSlice,
    "Pod": Pod,
}


class ListSink(Protocol):
    """Where the objects of one kind go. Those not listed between `begin_list` and `end_list` are gone."""

    def begin_list(self) -> None:
        """A list starts."""

    def listed(self, obj: Any) -> None:
        """An object of the list: new, changed or as it was."""

    def end_list(self) -> None:
        """The list is whole."""


class Log(Protocol):
    """Where the source says what it cannot read."""

    def error(self, text: str) -> None:
        """A manifest cannot be read."""

    def warning(self, text: str) -> None:
        """A manifest cannot be read; what it said before is still served."""

    def info(self, text: str) -> None:
        """A change was read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was on disk at one time."""

    listing: Listing = field(default_factory=dict)
    files: Mapping[str, FileState] = field(default_factory=dict)
    objects: Mapping[str, Sequence[Object]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def versions(self, kind: str) -> list[tuple[str, str, str]]:
        """What identifies the objects of a kind and their content."""
        found = [item.metadata for item in self.objects.get(kind, ())]
        return [(meta.namespace, meta.name, meta.resource_version) for meta in found]


class ManifestSource:
    """Reads manifests, resolves them and keeps `sinks` (by kind: Service, EndpointSlice, Pod, Namespace) true to them.

    `select` holds predicates by kind, as the API would filter by label. A kind without a sink is not followed.
    """

    def __init__(
        self,
        paths: Iterable[str],
        sinks: Mapping[str, ListSink],
        log: Log,
        *,
        ranges: Ranges | None = None,
        select: Mapping[str, Callable[[Any], bool]] | None = None,
    ) -> None:
        self._paths = tuple(paths)
        self._sinks = sinks
        self._log = log
        self._ranges = ranges or Ranges()
        self._select = select or {}
        self._reading = Reading()
        self._pending: Listing | None = None
        self._scans = 0

    def load(self) -> list[Problem]:
        """Read everything now and list it to every sink. Problems are logged and returned."""
        before, self._reading = self._reading, self._read(find(self._paths))
        self._report(before)
        for kind, sink in self._sinks.items():
            sink.begin_list()
            for item in self._reading.objects[kind]:
                sink.listed(item)
            sink.end_list()
        return list(self._reading.problems)

    async def run(self) -> None:
        """Follow the files for ever."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await self.poll()

    async def poll(self) -> bool:
        """Look at the files once; whether a change was read. Files are looked at and read outside the event loop."""
        listing = await asyncio.to_thread(find, self._paths)
        if not self._settled(listing):
            return False
        before, self._reading = self._reading, await asyncio.to_thread(self._read, listing)
        self._report(before)
        for kind in self._sinks:
            if before.versions(kind) != self._reading.versions(kind):
                await self._list(kind)
        return True

    def _settled(self, listing: Listing) -> bool:
        """Whether there is a change and it is over: half a file, or a file between two renames, is not to be read.

        Two looks that agree end a change; so do MAX_SCANS looks, or a file that never rests would hold up the others.
        """
        if listing == self._reading.listing:
            self._pending, self._scans = None, 0
            return False
        self._scans += 1
        if listing != self._pending and self._scans < MAX_SCANS:
            self._pending = listing
            return False
        self._pending, self._scans = None, 0
        return True

    def _read(self, listing: Listing) -> Reading:
        """What the files say now. Runs in a thread: reads only what no one else changes meanwhile."""
        files = read_files(listing, self._reading.files)
        cluster = resolve([document for state in files.values() for document in state.documents], self._ranges)
        objects: dict[str, list[Object]] = {kind: [] for kind in self._sinks}
        for item in cluster.objects:
            kind = item["kind"]
            if kind in objects:
                converted = msgspec.convert(item, STRUCTS[kind])
                if kind not in self._select or self._select[kind](converted):
                    objects[kind].append(converted)
        problems = (*(problem for state in files.values() for problem in state.problems), *cluster.problems)
        return Reading(listing, files, objects, problems)

    def _report(self, before: Reading) -> None:
        """Log each problem once for each change of its file, then what there is now."""
        known = set(before.problems)
        for problem in self._reading.problems:
            state, earlier = self._reading.files.get(problem.file), before.files.get(problem.file)
            if problem in known and state is earlier:
                continue
            if state is not None and state.outdated:
                self._log.warning(f"{problem}; serving what the file said before")
            else:
                self._log.error(str(problem))
        counts = ", ".join(f"{len(items)} {kind}" for kind, items in self._reading.objects.items())
        self._log.info(f"Read {len(self._reading.files)} manifest files: {counts}")

    async def _list(self, kind: str) -> None:
        """List one kind to its sink, with a turn for the event loop now and then."""
        sink = self._sinks[kind]
        sink.begin_list()
        for count, item in enumerate(self._reading.objects[kind], 1):
            sink.listed(item)
            if count % SLICE == 0:
                await asyncio.sleep(0)
        sink.end_list()
