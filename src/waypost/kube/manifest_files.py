"""Files of manifests on disk: which there are, whether they changed, what they say."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from waypost.manifests.documents import Document, split
from waypost.manifests.problem import Problem

ENDINGS = (".yaml", ".yml", ".json")
MAX_BYTES = 256 * 1024 * 1024


class Stamp(NamedTuple):
    """What changes with a file's content or with the file behind a symlink; ctime also tells of new permissions."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


Listing: TypeAlias = dict[str, Stamp | str]
"""Path -> stamp of the file, or why there is none. In the order of the paths given, a folder's files sorted."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file says. `outdated` means that `documents` are those of its last version without a problem."""

    stamp: Stamp | str
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    good: bool = False
    outdated: bool = False


def find(paths: Iterable[str]) -> Listing:
    """The files at `paths`: a file as it is, a folder with all `.yaml`, `.yml` and `.json` below it. Raises nothing.

    Hidden names are left out: editors keep copies there, and Kubernetes the versions of a mounted ConfigMap.
    """
    listing: Listing = {}
    for path in paths:
        listing.update(look(path, frozenset()))
    return listing


def look(path: str, above: frozenset[tuple[int, int]]) -> Iterator[tuple[str, Stamp | str]]:
    """The files at or below one path; `above` are the folders on the way, so that a symlink cannot lead in a circle."""
    try:
        found = os.stat(path)
        if not stat.S_ISDIR(found.st_mode):
            yield path, stamp_of(found)
            return
        here = (found.st_dev, found.st_ino)
        if here in above:
            return
        with os.scandir(path) as entries:
            inside = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        yield path, f"cannot be read: {error.strerror}"
        return
    for name, is_folder in inside:
        if is_folder or name.endswith(ENDINGS):
            yield from look(os.path.join(path, name), above | {here})


def stamp_of(found: os.stat_result) -> Stamp | str:
    """The stamp of a regular file of sensible size; why not, for anything else."""
    if not stat.S_ISREG(found.st_mode):
        return "cannot be read: neither a file nor a folder"
    if found.st_size > MAX_BYTES:
        return f"cannot be read: larger than {MAX_BYTES // 1024**2} MiB"
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def read_files(listing: Listing, before: Mapping[str, FileState]) -> dict[str, FileState]:
    """The state of each file listed; only those whose stamp is not that of `before` are read. Raises nothing.

    A file that was good and no longer is keeps the documents it had, and so do the files of a folder that can no
    longer be read. An emptied file counts as broken: most likely somebody is about to write it.
    """
    states: dict[str, FileState] = {}
    for path, stamp in listing.items():
        known = before.get(path, FileState(""))
        below = files_below(path, before) if isinstance(stamp, str) else {}
        states |= below
        if known.stamp == stamp:
            states[path] = known
            continue
        state = read_file(path, stamp, content_expected=bool(known.documents))
        if state.problems and (known.good or not state.documents):
            kept = bool(known.documents or below)
            state = replace(state, documents=known.documents, good=known.good, outdated=kept)
        states[path] = state
    return states


def files_below(path: str, states: Mapping[str, FileState]) -> dict[str, FileState]:
    """The states of the files in the folder `path`."""
    return {name: state for name, state in states.items() if name.startswith(os.path.join(path, ""))}


def read_file(path: str, stamp: Stamp | str, *, content_expected: bool) -> FileState:
    """Read and take apart one file. Raises nothing."""
    if isinstance(stamp, str):
        return FileState(stamp, problems=(Problem(path, 0, "", stamp),))
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_BYTES)
        text = content.decode()
    except OSError as error:
        return FileState(stamp, problems=(Problem(path, 0, "", f"cannot be read: {error.strerror}"),))
    except UnicodeDecodeError as error:
        return FileState(stamp, problems=(Problem(path, 0, "", f"not UTF-8 at byte {error.start}"),))
    if not text and content_expected:
        return FileState(stamp, problems=(Problem(path, 0, "", "is empty"),))
    documents, problems = split(text, path)
    return FileState(stamp, tuple(documents), tuple(problems), good=not problems)
