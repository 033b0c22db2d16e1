"""What comments do: `# waypost: ignore W101` silences advice, and one glued to a word ends sooner than it seems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from waypost.advice.finding import WARNING, Remark, Rule
from waypost.advice.subject import Subject
from waypost.corefile.lexer import pieces
from waypost.corefile.model import Token

_IGNORE: Final = re.compile(r"#+\s*waypost:\s*ignore\b(?P<codes>[^#]*)")
_CODE: Final = re.compile(r"\bW\d+\b")


def ignores(text: str) -> Iterator[tuple[int, int, str]]:
    """Each code that a comment silences: for which line, and the line of the comment.

    A comment behind words is about its own line, one on a line of its own about the next line with words.
    """
    waiting: list[tuple[int, str]] = []
    last = 0
    for piece, line, _ in pieces(text):
        if piece.lastgroup == "comment":
            found = _IGNORE.match(piece[0])
            codes = _CODE.findall(found["codes"]) if found else []
            if last == line:
                yield from ((line, line, code) for code in codes)
            else:
                waiting += ((line, code) for code in codes)
            continue
        yield from ((line, at, code) for at, code in waiting)
        waiting = []
        last = line + piece[0].count("\n")
    yield from ((at, at, code) for at, code in waiting)


def silenced(texts: Mapping[str, str]) -> frozenset[tuple[str, int, str]]:
    """File, line and code of everything that comments silence."""
    return frozenset((file, line, code) for file, text in texts.items() for line, _, code in ignores(text))


def glued(subject: Subject) -> Iterator[Remark]:
    """The words behind the blank are no comment."""
    for file, text in subject.texts.items():
        before: Token | None = None
        for piece, line, column in pieces(text):
            if before is not None and before.line == line and piece.lastgroup != "comment":
                yield Remark(
                    before, f"'{piece[0].strip()}' is no comment: one that is glued to a word ends at the blank"
                )
            word = piece["word"] if piece.lastgroup == "word" else None
            is_glued = word is not None and len(word) < len(piece[0])
            before = Token(piece[0], file, line, 0, column) if is_glued else None


RULES: Final = (
    Rule(
        "W309", WARNING, "a comment glued to a word",
        "Such a comment ends at the next blank.",
        "Put a blank in front of the `#`.",
        glued,
    ),
)  # fmt: skip
