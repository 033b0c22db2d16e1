"""Corefile text to tokens.

Words are separated by white space. A `"` that starts a word opens a quoted one, which may span lines and in which
only `\\"` is an escape. `#` starts a comment; one that is glued to a word ends with the next blank, any other
with the line. A carriage return outside quotes is no character at all: it neither belongs to a word nor ends one.
"""

from __future__ import annotations

import re
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
    | \#[^\n]*
    | "(?P<quoted>[^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?\Z)
    | (?P<word>[^{SPACE}\r"\#][^{SPACE}\#]*)(?:\#[^{SPACE}]*)?
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str, file: str) -> list[Token]:
    """The tokens of `text`, marked with `file` as it is to appear in messages.

    A quote that is never closed reaches to the end. Raises CorefileError for more than MAX_TOKENS tokens.
    """
    tokens: list[Token] = []
    line = 1
    for piece in PIECE.finditer(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0):
        breaks = piece[0].count("\n")
        if piece.lastgroup == "word":
            tokens.append(Token(piece["word"].replace("\r", ""), file, line))
        elif piece["quoted"] or piece[0] == '""':
            tokens.append(Token(piece["quoted"].replace('\\"', '"'), file, line, breaks))
        line += breaks
        if len(tokens) > MAX_TOKENS:
            raise CorefileError(file, line, f"too many tokens, at most {MAX_TOKENS} are allowed")
    return tokens
