"""The import line: a snippet, a file, or the files that match a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from waypost.corefile.errors import CorefileError
from waypost.corefile.lexer import tokenize
from waypost.corefile.limits import MAX_IMPORT_DEPTH, MAX_IMPORTS
from waypost.corefile.model import Token
from waypost.corefile.stream import Origin, TokenStream
from waypost.corefile.variables import Variables


class Reader(Protocol):
    """The file access that imports need."""

    def absolute(self, path: str, relative_to: str) -> str:
        """`path` as a clean absolute path, seen from the directory `relative_to` ("": the working directory)."""

    def glob(self, pattern: str) -> list[str]:
        """The existing paths that match an absolute pattern: `*` and `?` within one path element, dot files too."""

    def is_dir(self, path: str) -> bool:
        """Whether `path` is a directory."""

    def read(self, path: str) -> str:
        """The text of a file, bytes that are not UTF-8 replaced. Raises OSError."""


def depth_exceeded(token: Token, what: str) -> CorefileError:
    """The error for a cycle or excess of imports; `what` is "snippet" or "file"."""
    return CorefileError.at(token, f"maximum {what} import depth ({MAX_IMPORTS}) exceeded")


class Importer:
    """Carries out import lines, and remembers the snippets, files and warnings met on the way."""

    __slots__ = ("base", "contents", "count", "files", "read", "snippets", "variables", "warnings")

    def __init__(self, read: Reader, base: str, variables: Variables) -> None:
        self.read = read
        self.base = base
        self.variables = variables
        self.snippets: dict[str, Sequence[Token]] = {}
        self.files: dict[str, None] = {}  # an ordered set
        self.warnings: list[str] = []
        self.contents: dict[str, list[Token]] = {}
        self.count = 0

    def carry_out(self, stream: TokenStream) -> None:
        """Replace the import line whose first word is current by what it names; `stream` then stands before that.

        Raises CorefileError for a bad line, a target that cannot be read, and a cycle.
        """
        before = stream.previous
        if not stream.next_on_line():
            raise CorefileError.argument(stream.current)
        argument = self.variables.expand(stream.current)
        origin = stream.origin
        if not argument.text:
            raise CorefileError.at(argument, "Import requires a non-empty filepath")
        if stream.next_on_line():
            raise CorefileError.at(argument, "Import takes only one argument (glob pattern or file)")
        self.count += 1
        snippet = self.snippets.get(argument.text)
        if snippet is not None:
            pieces = [(self.enter(origin, f"({argument.text})", argument, "snippet"), snippet)]
        else:
            paths = self.matches(argument)
            pieces = [(self.enter(origin, path, argument, "file"), self.tokens(path, argument)) for path in paths]
        stream.put_in(before, pieces)

    def enter(self, origin: Origin, key: str, argument: Token, what: str) -> Origin:
        if self.count > MAX_IMPORTS or origin.depth >= MAX_IMPORT_DEPTH or origin.leads_back_to(key):
            raise depth_exceeded(argument, what)
        return origin.child(key)

    def matches(self, argument: Token) -> list[str]:
        """The absolute paths that the import argument names, sorted. None for a pattern is worth a warning only."""
        target = argument.text
        directory = self.read.absolute(argument.file, self.base).rpartition("/")[0] or "/"
        pattern = self.read.absolute(target, directory)
        if pattern.count("*") > 1 or pattern.count("?") > 1 or ("[" in pattern and "]" in pattern):
            raise CorefileError.at(
                argument, f"Glob pattern may only contain one wildcard (*), but has others: {pattern}"
            )
        if "[" in pattern:
            raise CorefileError.at(argument, f"Failed to use import pattern {target}: syntax error in pattern")
        paths = sorted(self.read.glob(pattern))
        if not paths and not any(char in pattern for char in "*?]"):
            raise CorefileError.at(argument, f"File to import not found: {target}") from FileNotFoundError(target)
        if not paths:
            self.warnings.append(f"No files matching import glob pattern: {target}")
        return paths

    def tokens(self, path: str, argument: Token) -> list[Token]:
        """The tokens of the file `path`, read only once however often it is imported."""
        if path in self.contents:
            return self.contents[path]
        if self.read.is_dir(path):
            raise CorefileError.at(argument, f"Could not import {path}: is a directory")
        try:
            text = self.read.read(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise CorefileError.at(argument, f"Could not import {path}: open {path}: {reason}") from error
        self.variables.budget.spend_characters(len(text), argument)
        self.files[path] = None
        self.contents[path] = tokenize(text, path)
        return self.contents[path]
