"""A Corefile to judge, and what there is around it: imports, resolv.conf files, the modes of secret files."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from waypost.advice.forwarding import resolver_files
from waypost.advice.secrets import secret_files
from waypost.advice.subject import Facts, Subject
from waypost.control.files import OsReader
from waypost.toolkit.resolvconf import name_servers


@dataclass(frozen=True, slots=True)
class Document:
    """A Corefile to judge. `name` is what messages show, and the place that relative imports start from.

    `beside` are files that lie in its folder, by name, though not on this machine (the keys of a ConfigMap). With
    `elsewhere` it is for another machine: files that are not here are no errors, and what this machine's files, modes
    and variables say counts for nothing. `resolv_conf` stands for every resolv.conf that it names.
    """

    name: str
    text: str
    port: str = "53"
    elsewhere: bool = False
    beside: Mapping[str, str] = field(default_factory=dict)
    resolv_conf: str | None = None


class DocumentReader:
    """Reads imports, from a ConfigMap's keys before the file system, and keeps their texts."""

    def __init__(self, document: Document) -> None:
        self._files = OsReader()
        folder = self._files.absolute(document.name, "").rpartition("/")[0]
        self._beside = {f"{folder}/{name}": text for name, text in document.beside.items()}
        self.texts: dict[str, str] = {}

    def absolute(self, path: str, relative_to: str) -> str:
        """See OsReader."""
        return self._files.absolute(path, relative_to)

    def glob(self, pattern: str) -> list[str]:
        """See OsReader."""
        own = [path for path in self._beside if fnmatch.fnmatchcase(path, pattern)]
        return own or self._files.glob(pattern)

    def is_dir(self, path: str) -> bool:
        """See OsReader."""
        return path not in self._beside and self._files.is_dir(path)

    def read(self, path: str) -> str:
        """See OsReader."""
        text = self._beside[path] if path in self._beside else self._files.read(path)
        self.texts[path] = text
        return text


def facts_of_files(document: Document, subject: Subject) -> Facts:
    """What the files say that the configuration names; nothing of those that cannot be read."""
    resolvers: dict[str, tuple[str, ...]] = {}
    for path in resolver_files(subject):
        text = document.resolv_conf
        if text is None and not document.elsewhere:
            text = _text(path)
        if text is not None:
            resolvers[path] = name_servers(text)
    modes: dict[str, int] = {}
    for _, path in () if document.elsewhere else secret_files(subject):
        mode = _mode(path)
        if mode is not None:
            modes[path] = mode
    return replace(subject.facts, resolvers=resolvers, modes=modes)


def _text(path: str) -> str | None:
    try:
        return OsReader().read(path)
    except (OSError, ValueError):
        return None


def _mode(path: str) -> int | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else None
