"""A Corefile in canonical form: the same words in the same order, laid out in one way.

Four blanks for each open brace, one blank between words, the brace of a server block behind its labels, one empty
line between server blocks. Words, comments, import lines and variables stay as they are, quotes go where they do
nothing. Lines of a directive are never joined or split: where a line ends is part of what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from waypost.corefile.errors import CorefileError
from waypost.corefile.layout import Row, Word, rows
from waypost.corefile.lexer import BYTE_ORDER_MARK
from waypost.corefile.sorting import Line, sort_directives

_INDENT: Final = "    "
_BRACES: Final = {"{": 1, "}": -1}
_VARIABLES: Final = ("{$", "{%")


def format_corefile(text: str, file: str, order: Sequence[str] = ()) -> str:
    """`text` in canonical form; it says the same.

    With `order` the directives of each server block stand in that order, as far as import lines and unknown names
    between them allow. Raises CorefileError if a brace or quote has no partner.
    """
    lines = _Layout(file).lay_out(rows(text, file))
    return _render(sort_directives(lines, order) if order else lines)


def unclosed_brace(text: str) -> int:
    """The line of the innermost brace that is never closed; 0 if there is none, or more is wrong than that."""
    open_braces: list[int] = []
    try:
        words = [word for row in rows(text, "") for word in row.words]
    except CorefileError:
        return 0
    for word in words:
        if word.text == "{":
            open_braces.append(word.line)
        elif word.text == "}" and open_braces:
            open_braces.pop()
    return open_braces[-1] if open_braces else 0


class _State(Enum):
    """What may come next outside of braces."""

    LABELS = auto()
    OPENING = auto()
    """The labels are complete: a brace, or the body of a block without braces."""
    UNSURE = auto()
    """Such a body, or what only the reading of an imported file would tell: rows stay as they are."""


@dataclass(slots=True)
class _Layout:
    """Follows the braces from row to row."""

    file: str
    lines: list[Line] = field(default_factory=list)
    open_braces: list[Word] = field(default_factory=list)
    state: _State = _State.LABELS
    names: list[str] = field(default_factory=list)
    """The labels of the block so far; empty ones do not count."""
    snippet: bool = False

    def lay_out(self, found: Iterable[Row]) -> list[Line]:
        """Raises CorefileError for a brace without a partner."""
        for row in found:
            self.take(row)
        if self.open_braces:
            raise self.error(self.open_braces[-1], "the brace that opens here is never closed")
        return self.lines

    def take(self, row: Row) -> None:
        if not row.words or self.state is _State.UNSURE:
            self.put(row)
        elif self.open_braces:
            self.inside(row)
        elif self.state is _State.OPENING and row.starts_with("{"):
            self.opening(row)
        elif self.state is _State.OPENING or row.starts_with("import"):
            self.state = _State.UNSURE
            self.put(row)
        else:
            self.labels(row)

    def labels(self, row: Row) -> None:
        """Labels, and what follows the brace behind them."""
        at = _index(row, "{")
        self.names += [word.text for word in (row.words if at is None else row.words[:at]) if word.text]
        if any(variable in name for name in self.names for variable in _VARIABLES) and (
            at is None or any(map(_names_snippet, self.names))
        ):
            self.state = _State.UNSURE
            self.put(row)
        elif at is None:
            self.put(row)
            self.state = _State.LABELS if self.names and self.names[-1].endswith(",") else _State.OPENING
        else:
            self.open(Row(row.words[: at + 1], "", row.gap), row.words[at + 1 :], row.comment)

    def opening(self, row: Row) -> None:
        """A brace on its own row goes behind the labels, unless a comment stands between."""
        before = self.lines[-1].row
        if before.words and not before.comment:
            self.lines.pop()
            self.open(Row([*before.words, row.words[0]], "", before.gap), row.words[1:], row.comment)
        else:
            self.open(Row(row.words[:1], "", row.gap), row.words[1:], row.comment)

    def open(self, head: Row, rest: list[Word], comment: str) -> None:
        """A row that ends with the brace of a block, and on a row of its own what stood behind that."""
        self.snippet = len(self.names) == 1 and _names_snippet(self.names[0])
        self.names = []
        self.state = _State.LABELS
        if not rest:
            head.comment = comment
        self.put(head)
        if rest:
            self.take(Row(rest, comment))

    def inside(self, row: Row) -> None:
        """A row of a body; what follows the brace that ends the block goes to a row of its own."""
        at = self.closing(row)
        if at is None:
            self.put(row)
            return
        rest = row.words[at + 1 :]
        if rest and rest[0].text == "import":  # at the start of a row it would not be a label
            self.state = _State.UNSURE
            self.put(row)
            return
        body, brace = (row.words[:at], row.words[at : at + 1]) if self.snippet else ([], row.words[: at + 1])
        if body:
            self.put(Row(body, "", row.gap))
        self.put(Row(brace, "" if rest else row.comment, row.gap and not body))
        if rest:
            self.take(Row(rest, row.comment))

    def closing(self, row: Row) -> int | None:
        """The index of the brace in the row that closes the outermost open one."""
        depth = len(self.open_braces)
        for index, word in enumerate(row.words):
            depth += _BRACES.get(word.text, 0)
            if depth == 0:
                return index
        return None

    def put(self, row: Row) -> None:
        """Append a row and follow its braces."""
        depth = len(self.open_braces)
        leading = next((i for i, word in enumerate(row.words) if word.text != "}"), len(row.words))
        in_block = depth - leading > 0 and not self.snippet and self.state is not _State.UNSURE
        self.lines.append(Line(row, max(0, depth - leading), in_block))
        for word in row.words:
            if word.text == "{":
                self.open_braces.append(word)
            elif word.text == "}":
                if not self.open_braces:
                    raise self.error(word, "this brace closes nothing")
                self.open_braces.pop()

    def error(self, word: Word, text: str) -> CorefileError:
        return CorefileError(self.file, word.line, text, column=word.column)


def _index(row: Row, text: str) -> int | None:
    return next((index for index, word in enumerate(row.words) if word.text == text), None)


def _names_snippet(text: str) -> bool:
    return text.startswith("(") and text.endswith(")")


def _render(lines: Sequence[Line]) -> str:
    found: list[str] = []
    before: Line | None = None
    for line in lines:
        row = line.row
        if before is not None and _gap(before, line):
            found.append("")
        words = [word.raw for word in row.words]
        found.append(_INDENT * line.indent + " ".join([*words, row.comment] if row.comment else words))
        before = line
    text = "\n".join(found) + "\n" if found else ""
    # The first such mark of a file is none of its characters.
    return BYTE_ORDER_MARK + text if text.startswith(BYTE_ORDER_MARK) else text


def _gap(before: Line, line: Line) -> bool:
    """Whether an empty line stands between two lines: always behind a block, never next to braces in it."""
    if before.indent == line.indent == 0 and before.row.starts_with("}"):
        return True
    return line.row.gap and not before.row.ends_with("{") and not line.row.starts_with("}")
