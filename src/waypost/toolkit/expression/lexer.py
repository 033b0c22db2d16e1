"""The words of an expression."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from waypost.corefile.quoting import quote
from waypost.toolkit.expression.errors import ExpressionError

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<Number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+
        |(?:[0-9][0-9_]*(?:\.[0-9][0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)
    | (?P<String>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<Bracket>[()\[\]{}])
    | (?P<Operator>\*\*|\.\.|\?\.|\?\?|\|\||&&|==|!=|<=|>=|[-+*/%^<>!?:=,;.|\#])
    """,
    re.VERBOSE | re.DOTALL,
)
_WORD_OPERATORS: Final = frozenset(
    ("and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith", "let", "if", "else")
)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLAIN: Final = frozenset("\\'\"`")


class Token(NamedTuple):
    """A word, a string's without quotes; `kind` is Number, String, Identifier, Operator, Bracket or EOF."""

    kind: str
    text: str
    at: int
    """Its offset."""

    def __str__(self) -> str:
        return f"{self.kind}({quote(self.text)})" if self.text else self.kind

    def is_operator(self, *texts: str) -> bool:
        """True for one of these operators or brackets."""
        return self.kind in ("Operator", "Bracket") and self.text in texts


def split(source: str) -> list[Token]:
    """The words, an EOF at the end. Raises ExpressionError."""
    tokens = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            char = source[at]
            if char in "\"'`":
                raise ExpressionError("literal not terminated", source, at)
            raise ExpressionError(f"unrecognized character: U+{ord(char):04X} '{char}'", source, at)
        kind, text = found.lastgroup or "", found[0]
        if kind == "String":
            tokens.append(Token(kind, _unquoted(text, source, at), at))
        elif kind == "word":
            tokens.append(Token("Operator" if text in _WORD_OPERATORS else "Identifier", text, at))
        elif kind != "blank":
            tokens.append(Token(kind, text, at))
        at = found.end()
    tokens.append(Token("EOF", "", max(len(source) - 1, 0)))
    return tokens


def _unquoted(text: str, source: str, at: int) -> str:
    body = text[1:-1]
    if text[0] == "`" or "\\" not in body:
        return body

    def replaced(found: re.Match[str]) -> str:
        escape = found[1]
        if escape in _CONTROLS:
            return _CONTROLS[escape]
        if escape in _PLAIN:
            return escape
        code = int(escape, 8) if escape.isdigit() else int(escape[1:] or "x", 16) if escape[0] in "xuU" else -1
        if not 0 <= code <= 0x10FFFF:
            raise ValueError(escape)
        return chr(code)

    try:
        return _ESCAPE.sub(replaced, body)
    except ValueError:
        raise ExpressionError("unable to unescape string", source, at) from None
