"""A parsed Corefile: frozen values that compare by content, so that a reload can tell whether anything changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Token(NamedTuple):
    """One word of a Corefile and the place where it starts.

    `line` and `column` (of characters) count from 1; column 0 is none. `breaks` is how many newlines the word spans
    in the file: only a quoted one can.
    """

    text: str
    file: str
    line: int
    breaks: int = 0
    column: int = 0

    def continues(self, previous: Token) -> bool:
        """Whether this token stands on the line on which `previous` ends."""
        return self.line == previous.line + previous.breaks and self.file == previous.file


@dataclass(frozen=True, slots=True)
class Directive:
    """Everything one server block says to one plugin.

    `tokens` are those of all occurrences of the directive in file order, each beginning with the directive's
    name, because CoreDNS hands them to a plugin in one piece. Read them with `args.Cursor`.
    """

    name: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class ServerBlock:
    """Labels as written, environment expanded, without separating commas; directives by first appearance.

    Either may be empty: `a.org:53` alone is a server without plugins, and `{ ... }` alone serves nothing.
    """

    labels: tuple[Token, ...]
    directives: tuple[Directive, ...]


@dataclass(frozen=True, slots=True)
class Corefile:
    """A whole configuration.

    `files` are the absolute names of the files read, the main one first; `warnings` are sentences for the log.
    """

    blocks: tuple[ServerBlock, ...]
    files: tuple[str, ...]
    warnings: tuple[str, ...] = ()
