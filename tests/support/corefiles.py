"""A file system in a dictionary for Corefiles that import, and short ways to parse and to read directives."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Mapping

from waypost.corefile.args import Cursor
from waypost.corefile.model import Corefile, Directive, ServerBlock
from waypost.corefile.parser import parse

KNOWN = frozenset({"bind", "cache", "chaos", "errors", "forward", "health", "hosts", "log", "reload", "whoami"})


class DictReader:
    """Files by absolute path; the directories are those that the paths imply. `/conf` is the working directory.

    `reads` lists the files read, `denied` are those that refuse.
    """

    def __init__(self, files: Mapping[str, str] | None = None, denied: tuple[str, ...] = ()) -> None:
        self.files = dict(files or {})
        self.denied = denied
        self.reads: list[str] = []

    def absolute(self, path: str, relative_to: str) -> str:
        return posixpath.normpath(posixpath.join("/conf", relative_to, path))

    def glob(self, pattern: str) -> list[str]:
        names = [*self.files, *map(posixpath.dirname, self.files)]
        return list({name for name in names if matches(name, pattern)})

    def is_dir(self, path: str) -> bool:
        return any(name.startswith(path + "/") for name in self.files)

    def read(self, path: str) -> str:
        self.reads.append(path)
        if path in self.denied:
            raise PermissionError(13, "Permission denied", path)
        return self.files[path]


def matches(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern)


def parse_corefile(
    text: str,
    files: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    file: str = "Corefile",
) -> Corefile:
    """`text` parsed as the Corefile in the working directory, with KNOWN directives."""
    return parse(text, file, env=env or {}, known=KNOWN, read=DictReader(files))


def labels(block: ServerBlock) -> list[str]:
    """The texts of a block's labels."""
    return [label.text for label in block.labels]


def words(block: ServerBlock) -> dict[str, list[str]]:
    """The texts of a block's tokens by directive."""
    return {directive.name: [token.text for token in directive.tokens] for directive in block.directives}


def directive(text: str, files: Mapping[str, str] | None = None) -> Directive:
    """The first directive of a block that holds `text`, whose first line is line 1."""
    return parse_corefile(f". {{ {text}\n}}", files).blocks[0].directives[0]


def cursor(text: str, files: Mapping[str, str] | None = None) -> Cursor:
    """A cursor before the first word of `directive(text)`."""
    return Cursor(directive(text, files))
