"""The file access of Corefiles: the configuration itself and what it imports."""

from __future__ import annotations

import glob
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from waypost.corefile.errors import CorefileError

BUILT_IN_NAME = "built-in Corefile"
DEFAULT_NAME = "Corefile"
STDIN = "stdin"


class OsReader:
    """`corefile.imports.Reader` over the file system."""

    def absolute(self, path: str, relative_to: str) -> str:
        """A clean absolute path, seen from a directory."""
        return os.path.normpath(os.path.join(relative_to or os.getcwd(), path))

    def glob(self, pattern: str) -> list[str]:
        """Existing paths that match, dot files too."""
        return glob.glob(pattern, include_hidden=True)

    def is_dir(self, path: str) -> bool:
        """Whether path is a directory."""
        return os.path.isdir(path)

    def read(self, path: str) -> str:
        """The text of a file. Raises OSError."""
        return Path(path).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the configuration comes from: a path, or (empty) the Corefile of the working directory.

    `text` is what standard input held: it can be read only once, and a reload takes the same again.
    """

    path: str = ""
    text: str | None = None

    @classmethod
    def named(cls, path: str) -> Source:
        """The source that a command line names; `stdin` is read now."""
        if path != STDIN:
            return cls(path)
        return cls(path, sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else "")

    @property
    def name(self) -> str:
        """The name that messages show."""
        if self.path == STDIN:
            return "/dev/stdin"
        return self.path or DEFAULT_NAME

    def read(self) -> str:
        """The configuration's text; empty if no path was given and there is no Corefile.

        Raises CorefileError when it cannot be read.
        """
        if self.text is not None:
            return self.text
        try:
            return OsReader().read(self.path or DEFAULT_NAME)
        except FileNotFoundError as exc:
            if not self.path:
                return ""
            raise CorefileError.unlocated(f"loading Caddyfile via flag: {_open_text(self.path, exc)}") from exc
        except OSError as exc:
            raise CorefileError.unlocated(f"loading Caddyfile via flag: {_open_text(self.name, exc)}") from exc


def built_in(port: str) -> str:
    """The configuration of a server that was given none."""
    return f".:{port} {{\n    whoami\n    log\n}}\n"


def _open_text(path: str, exc: OSError) -> str:
    return f"open {path}: {os.strerror(exc.errno or 0).lower()}"
