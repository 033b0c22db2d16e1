"""Changes of a text by place: words of a line, whole lines, and lines put in. Applied all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from waypost.corefile.layout import Word
from waypost.migration.structure import Statement

_STEP = "    "


@dataclass(slots=True)
class Edits:
    """What is to be done with the lines of one text. Lines and columns count from 1."""

    lines: list[str]
    words: dict[int, list[tuple[int, int, str]]] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    after: dict[int, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Edits:
        """None yet."""
        return cls(text.split("\n"))

    @property
    def are_none(self) -> bool:
        """Whether nothing would change."""
        return not (self.words or self.gone or self.after)

    def replace(self, word: Word, text: str) -> None:
        """Another word in its place; with an empty text the blanks before it go as well."""
        start, end = word.column - 1, word.column - 1 + len(word.raw)
        line = self.lines[word.line - 1]
        if not text:
            start = len(line[:start].rstrip())
        self.words.setdefault(word.line, []).append((start, end, text))

    def append(self, word: Word, text: str) -> None:
        """More behind a word, before a comment."""
        end = word.column - 1 + len(word.raw)
        self.words.setdefault(word.line, []).append((end, end, text))

    def put_after(self, line: int, lines: Iterable[str]) -> None:
        """Lines behind a line."""
        self.after.setdefault(line, []).extend(lines)

    def remove(self, statement: Statement) -> None:
        """A directive or option with its block. Comments in it stay, on lines of their own."""
        self.gone.update(range(statement.first, statement.last + 1))
        comments = list(_comments(statement))
        self.put_after(statement.last, [" " * statement.indent + comment for comment in comments])

    def remove_option(self, directive: Statement, options: list[Statement]) -> None:
        """Options of a directive; braces that would then hold nothing go as well."""
        for option in options:
            self.remove(option)
        if all(each in options for each in directive.inner) and not any(map(_has_comments, options)):
            self.gone.add(directive.last)
            line = self.lines[directive.first - 1]
            end = directive.words[-1].column - 1 + len(directive.words[-1].raw)
            brace = line.index("{", end)
            self.words.setdefault(directive.first, []).append((end, brace + 1, ""))

    def add_option(self, directive: Statement, text: str) -> None:
        """An option at the end of a directive's block, which is made if it has none."""
        inner = [each.indent for each in directive.inner if each.words]
        blanks = " " * (inner[-1] if inner else directive.indent + len(_STEP))
        if directive.braced:
            self.put_after(directive.last - 1, [blanks + text])
        else:
            self.append(directive.words[-1], " {")
            self.put_after(directive.last, [blanks + text, " " * directive.indent + "}"])

    def apply(self) -> list[tuple[str, int]]:
        """The lines with everything done, each with its number before; 0 for those put in."""
        found: list[tuple[str, int]] = []
        for number, line in enumerate(self.lines, 1):
            if number not in self.gone:
                found.append((_changed(line, self.words.get(number, ())), number))
            found += [(text, 0) for added in self.after.get(number, ()) for text in added.split("\n")]
        return found


def _changed(line: str, changes: Iterable[tuple[int, int, str]]) -> str:
    for start, end, text in sorted(changes, reverse=True):
        line = line[:start] + text + line[end:]
    return line


def _comments(statement: Statement) -> Iterable[str]:
    if statement.comment:
        yield statement.comment
    for each in statement.inner:
        yield from _comments(each)


def _has_comments(statement: Statement) -> bool:
    return any(True for _ in _comments(statement))
