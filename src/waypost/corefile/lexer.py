"""Corefile text to tokens.

Words are separated by white space. A `"` that starts a word opens a quoted one, which may span lines and in which
only `\\"` is an escape. `#` starts a comment; one that is glued to a word ends with the next blank, any other
with the line. A carriage return outside quotes is no character at all: it neither belongs to a word nor ends one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from waypost.corefile.errors import CorefileError
from waypost.corefile.limits import MAX_TOKENS
from waypost.corefile.model import Token

# Unicode's White_Space without the carriage return; `\s` of the re module has four control characters more.
SPACE: Final = r"\t\n\v\f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
BYTE_ORDER_MARK: Final = "\ufeff"

PIECE: Final = re.compile(
    rf"""
      [{SPACE}\r]+
    | (?P<comment>\#[^\n]*)
    | "(?P<quoted>[^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?\Z)
    | (?P<word>[^{SPACE}\r"\#][^{SPACE}\#]*)(?:\#[^{SPACE}]*)?
    """,
    re.VERBOSE | re.DOTALL,
)


def pieces(text: str) -> Iterator[tuple[re.Match[str], int, int]]:
    """Everything in `text` but blanks: the match of PIECE, its line, its column in characters; both count from 1.

    The match's `lastgroup` is `word`, `quoted` or `comment`.
    """
    start = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    line = 1
    newline = start - 1  # where the last one stands
    for piece in PIECE.finditer(text, start):
        if piece.lastgroup is not None:
            yield piece, line, piece.start() - newline
        if breaks := piece[0].count("\n"):
            line += breaks
            newline = piece.start() + piece[0].rindex("\n")


def tokenize(text: str, file: str) -> list[Token]:
    """The tokens of `text`, marked with `file` as it is to appear in messages.

    A quote that is never closed reaches to the end. Raises CorefileError for more than MAX_TOKENS tokens, and for a
    NUL character, which can stand in no name of a file or host.
    """
    if "\0" in text:
        at = text.index("\0")
        line_start = text.rfind("\n", 0, at) + 1
        raise CorefileError(file, text.count("\n", 0, at) + 1, "a NUL character is no text", column=at - line_start + 1)
    tokens: list[Token] = []
    for piece, line, column in pieces(text):
        if piece.lastgroup == "word":
            tokens.append(Token(piece["word"].replace("\r", ""), file, line, 0, column))
        elif piece["quoted"] or piece[0] == '""':
            quoted = piece["quoted"]
            tokens.append(Token(quoted.replace('\\"', '"'), file, line, quoted.count("\n"), column))
        if len(tokens) > MAX_TOKENS:
            raise CorefileError(file, line, f"too many tokens, at most {MAX_TOKENS} are allowed")
    return tokens
