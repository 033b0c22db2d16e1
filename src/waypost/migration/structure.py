"""A Corefile as blocks, directives and options that know their place in the text, so that it can be changed in place.

For text whose braces stand as `waypost fmt` puts them: an opening one ends its line, a closing one has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from waypost.corefile.layout import Row, Word, rows
from waypost.corefile.zones import zones_of_argument


class Untidy(Exception):
    """A brace that does not stand where this module expects it; `line` counts from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: a brace shares its line with other words")
        self.line = line


@dataclass(slots=True)
class Statement:
    """A directive or an option: its words without braces, its lines, and the statements of its block."""

    words: list[Word]
    first: int
    last: int
    comment: str = ""
    """Behind its first line, or on a line of its own if there are no words."""
    braced: bool = False
    inner: list[Statement] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The first word; empty for a comment on a line of its own."""
        return self.words[0].text if self.words else ""

    @property
    def arguments(self) -> list[Word]:
        """The words behind the first."""
        return self.words[1:]

    def options(self, name: str) -> Iterator[Statement]:
        """Those of this name."""
        return (each for each in self.inner if each.name == name)

    def has(self, name: str) -> bool:
        """Whether there is one."""
        return next(self.options(name), None) is not None

    @property
    def indent(self) -> int:
        """Characters in front of the first word."""
        return self.words[0].column - 1 if self.words else 0


@dataclass(slots=True)
class Block:
    """A server block or a snippet. `last` is the line of its closing brace, or of its last word if it has none."""

    labels: list[str]
    first: int
    last: int
    braced: bool
    body: list[Statement]

    @property
    def is_snippet(self) -> bool:
        """Whether it is there to be imported."""
        return len(self.labels) == 1 and self.labels[0].startswith("(") and self.labels[0].endswith(")")

    @property
    def is_root(self) -> bool:
        """Whether it serves plain DNS for everything, on one port."""
        return len(self.labels) == 1 and "://" not in self.labels[0] and zones_of_argument(self.labels[0]) == ["."]

    def directives(self, name: str) -> list[Statement]:
        """Those of this name."""
        return [each for each in self.body if each.name == name]


def read_blocks(text: str, file: str) -> list[Block]:
    """The blocks of `text`; imports between them are left out. Raises Untidy, or CorefileError as `rows` does."""
    reader = _Reader(rows(text, file))
    blocks = []
    while (row := reader.take_words()) is not None:
        if row.starts_with("import"):
            continue
        blocks.append(_block(reader, row))
    return blocks


class _Reader:
    """The rows one after the other."""

    def __init__(self, found: Sequence[Row]) -> None:
        self._rows = list(found)
        self._place = 0

    def take(self) -> Row | None:
        """The next one."""
        if self._place == len(self._rows):
            return None
        self._place += 1
        return self._rows[self._place - 1]

    def take_words(self) -> Row | None:
        """The next one that is more than a comment."""
        row = self.take()
        while row is not None and not row.words:
            row = self.take()
        return row


def _block(reader: _Reader, row: Row) -> Block:
    first = row.words[0].line
    words = list(row.words)
    while words[-1].text.endswith(",") and (more := reader.take_words()) is not None:
        words += more.words
    braced = words[-1].text == "{"
    labels = [word.text.removesuffix(",") for word in (words[:-1] if braced else words) if word.text not in ("", ",")]
    _refuse_braces(words[:-1] if braced else words)
    body = list(_statements(reader, braced))
    last = words[-1].line
    if body:
        last = body[-1].last
    if braced:
        closing = body.pop()
        last = closing.last
    return Block(labels, first, last, braced, body)


def _statements(reader: _Reader, braced: bool) -> Iterator[Statement]:
    """Up to the closing brace, which is given as a last statement without words; without one, up to the end."""
    while (row := reader.take()) is not None:
        if row.starts_with("}"):
            if len(row.words) > 1 or not braced:
                raise Untidy(row.words[0].line)
            yield Statement([], row.words[0].line, row.words[0].line)
            return
        yield _statement(reader, row)
    if braced:
        raise Untidy(0)


def _statement(reader: _Reader, row: Row) -> Statement:
    if not row.words:
        return Statement([], 0, 0, row.comment)
    first, last = row.words[0].line, row.words[-1].line + row.words[-1].text.count("\n")
    if not row.ends_with("{"):
        _refuse_braces(row.words)
        return Statement(row.words, first, last, row.comment)
    _refuse_braces(row.words[:-1])
    inner = list(_statements(reader, True))
    return Statement(row.words[:-1], first, inner.pop().last, row.comment, True, inner)


def _refuse_braces(words: Sequence[Word]) -> None:
    for word in words:
        if word.text in ("{", "}"):
            raise Untidy(word.line)
