"""Template text to tokens, one at a time, so that an error behind the first one is never reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple


class Kind(Enum):
    """What a token is. BREAK and the like are keywords, told apart by their text."""

    TEXT = "text"
    CLOSE = "}}"
    NAME = "name"
    KEYWORD = "keyword"
    FIELD = "field"
    VARIABLE = "variable"
    DOT = "."
    NUMBER = "number"
    CHARACTER = "character"
    STRING = "string"
    SYMBOL = "symbol"
    EOF = "EOF"
    ERROR = "error"


class Token(NamedTuple):
    """A word of a template. `position` counts characters; `spaced` says that blanks stand before it in its action."""

    kind: Kind
    text: str
    position: int
    spaced: bool = False


KEYWORDS: Final = frozenset(("if", "else", "end", "range", "with", "break", "continue", "define", "block", "template"))
_BLANK: Final = " \t\r\n"
_OPEN: Final = "{{"
_CLOSE: Final = "}}"
_SYMBOLS: Final = (":=", "=", "|", "(", ")", ",")
_WORDS: Final = (
    (Kind.NUMBER, re.compile(r"[+-]?\.?[0-9](?:[eEpP][+-](?=[0-9])|[\w.])*")),
    (Kind.FIELD, re.compile(r"\.\w+")),
    (Kind.DOT, re.compile(r"\.")),
    (Kind.VARIABLE, re.compile(r"\$\w*")),
    (Kind.NAME, re.compile(r"[^\W\d]\w*")),
    (Kind.STRING, re.compile(r'"(?:[^"\\\n]|\\.)*"')),
    (Kind.STRING, re.compile(r"`[^`]*`")),
    (Kind.CHARACTER, re.compile(r"'(?:[^'\\\n]|\\.)*'")),
)
_UNTERMINATED: Final = {
    '"': "unterminated quoted string",
    "`": "unterminated raw quoted string",
    "'": "unterminated character constant",
}
_ENDS_WORD: Final = frozenset(_BLANK + ".,|:()=")
_NEED_END: Final = frozenset((Kind.FIELD, Kind.VARIABLE, Kind.NAME))


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a template; the last one is EOF or ERROR, whose text is what is wrong.

    Blanks beside `{{- ` and ` -}}` are gone, comments too.
    """
    position = 0
    trim = False
    while True:
        start = text.find(_OPEN, position)
        end = len(text) if start < 0 else start
        trims_left = start >= 0 and text.startswith("-", start + 2) and text[start + 3 : start + 4] in tuple(_BLANK)
        literal = text[position:end]
        literal = literal.lstrip(_BLANK) if trim else literal
        literal = literal.rstrip(_BLANK) if trims_left else literal
        if literal:
            yield Token(Kind.TEXT, literal, position)
        if start < 0:
            yield Token(Kind.EOF, "EOF", end)
            return
        inside = start + (4 if trims_left else 2)
        if text.startswith("/*", inside):
            position, trim, wrong = _comment(text, inside)
            if wrong:
                yield Token(Kind.ERROR, wrong, start)
                return
            continue
        for token in _action(text, inside):
            yield token
        if token.kind is Kind.ERROR:
            return
        position = token.position + len(token.text)
        trim = token.text != _CLOSE


def _comment(text: str, start: int) -> tuple[int, bool, str]:
    """Where the text goes on behind a comment, whether blanks are trimmed there, and what is wrong with it."""
    end = text.find("*/", start)
    if end < 0:
        return 0, False, "unclosed comment"
    end += 2
    if text.startswith(_CLOSE, end):
        return end + 2, False, ""
    if text[end : end + 1] in tuple(_BLANK) and text.startswith("-" + _CLOSE, end + 1):
        return end + 4, True, ""
    return 0, False, "comment ends before closing delimiter"


def _action(text: str, position: int) -> Iterator[Token]:
    """The tokens of one action, up to its `}}` or ` -}}` (then CLOSE has that text) or an error."""
    depth = 0
    while True:
        start = position
        while position < len(text) and text[position] in _BLANK:
            position += 1
        spaced = position > start
        token = _next(text, position, spaced)
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind is Kind.SYMBOL else 0
        if depth < 0:
            token = Token(Kind.ERROR, "unexpected right paren", position)
        elif token.kind is Kind.CLOSE and depth:
            token = Token(Kind.ERROR, "unclosed left paren", position)
        yield token
        if token.kind in (Kind.CLOSE, Kind.ERROR):
            return
        position += len(token.text)


def _next(text: str, position: int, spaced: bool) -> Token:
    if position >= len(text):
        return Token(Kind.ERROR, "unclosed action", position)
    if text.startswith(_CLOSE, position):
        return Token(Kind.CLOSE, _CLOSE, position, spaced)
    if spaced and text.startswith("-" + _CLOSE, position):
        return Token(Kind.CLOSE, "-" + _CLOSE, position, spaced)
    for symbol in _SYMBOLS:
        if text.startswith(symbol, position):
            return Token(Kind.SYMBOL, symbol, position, spaced)
    for kind, pattern in _WORDS:
        found = pattern.match(text, position)
        if found:
            return _word(text, kind, found, spaced)
    char = text[position]
    return Token(Kind.ERROR, _UNTERMINATED.get(char) or f"unrecognized character in action: {_unicode(char)}", position)


def _word(text: str, kind: Kind, found: re.Match[str], spaced: bool) -> Token:
    following = text[found.end() : found.end() + 1]
    if kind in _NEED_END and following and following not in _ENDS_WORD and not text.startswith(_CLOSE, found.end()):
        return Token(Kind.ERROR, f"bad character {_unicode(following)}", found.end())
    if kind is Kind.NAME and found[0] in KEYWORDS:
        kind = Kind.KEYWORD
    return Token(kind, found[0], found.start(), spaced)


def _unicode(char: str) -> str:
    return f"U+{ord(char):04X} '{char}'" if char.isprintable() else f"U+{ord(char):04X}"
