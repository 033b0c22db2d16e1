"""Corefile text to rows: the words of each line as they are written, with their comments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from waypost.corefile.errors import CorefileError
from waypost.corefile.lexer import pieces
from waypost.corefile.limits import MAX_TOKENS

# What needs no quotes, and looks no different without them.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:*@+-]+")


class Word(NamedTuple):
    """A token before any variable is replaced. `raw` is how to write it, a comment glued to it included."""

    text: str
    raw: str
    line: int
    column: int


@dataclass(slots=True)
class Row:
    """The words of a line, which goes on behind a quoted word of several lines, and the comment behind them.

    A row without words is a comment on a line of its own. `gap` says that an empty line stands before it.
    """

    words: list[Word] = field(default_factory=list)
    comment: str = ""
    gap: bool = False

    def starts_with(self, text: str) -> bool:
        """Whether this is the first word."""
        return bool(self.words) and self.words[0].text == text

    def ends_with(self, text: str) -> bool:
        """Whether this is the last word."""
        return bool(self.words) and self.words[-1].text == text


def rows(text: str, file: str) -> list[Row]:
    """The rows of `text`. Raises CorefileError for a quote that is never closed, and for too many words."""
    found: list[Row] = []
    end = 0  # the line on which the last row ends
    for number, (piece, line, column) in enumerate(pieces(text)):
        if number > MAX_TOKENS:
            raise CorefileError(file, line, f"too many tokens, at most {MAX_TOKENS} are allowed", column=column)
        if line != end or not found or found[-1].comment:
            found.append(Row(gap=bool(found) and line > end + 1))
        row = found[-1]
        end = line
        if piece.lastgroup == "comment":
            row.comment = piece[0].rstrip()
        elif piece.lastgroup == "word":
            row.words.append(Word(piece["word"].replace("\r", ""), piece[0].replace("\r", ""), line, column))
        else:
            if text[piece.end("quoted") : piece.end()] != '"':
                raise CorefileError(file, line, "the quote that opens here is never closed", column=column)
            content = piece["quoted"].replace('\\"', '"')
            row.words.append(Word(content, content if _PLAIN.fullmatch(content) else piece[0], line, column))
            end += piece[0].count("\n")
    return found
