"""What is wrong with a Corefile, and where: the one exception of this package, worded as CoreDNS words it."""

from __future__ import annotations

from typing import Final, Self

from waypost.corefile.model import Token

PARSING: Final = "Error during parsing"
SYNTAX: Final = "Syntax error"


class CorefileError(Exception):
    """A fault in the user's configuration.

    `str()` gives `PREFIX FILE:LINE - KIND: TEXT`, or `PREFIX TEXT` for an error that has no place in a file
    (`file` is then empty). `prefix` names who complains, such as `plugin/cache: `. `column` is 0 if it is not known.
    """

    def __init__(
        self, file: str, line: int, text: str, *, kind: str = PARSING, prefix: str = "", column: int = 0
    ) -> None:
        super().__init__(file, line, text)
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        self.kind = kind
        self.prefix = prefix

    def __str__(self) -> str:
        place = f"{self.file}:{self.line} - {self.kind}: " if self.file else ""
        return f"{self.prefix}{place}{self.text}"

    @classmethod
    def unlocated(cls, text: str) -> Self:
        """An error about the configuration as a whole, without file and line."""
        return cls("", 0, text)

    @classmethod
    def at(cls, token: Token, text: str) -> Self:
        """`text` said of the place where `token` stands."""
        return cls(token.file, token.line, text, column=token.column)

    @classmethod
    def argument(cls, token: Token) -> Self:
        """Too many or too few arguments; `token` is the last one that was read."""
        if token.text == "{":
            return cls.at(token, "Unexpected token '{', expecting argument")
        return cls.at(token, f"Wrong argument count or unexpected line ending after '{token.text}'")

    @classmethod
    def end_of_file(cls, token: Token) -> Self:
        """The text ended inside a block or a list of labels; `token` is its last token."""
        return cls.at(token, "Unexpected EOF")

    @classmethod
    def syntax(cls, token: Token, expected: str) -> Self:
        """`token` stands where `expected` must stand."""
        text = f"Unexpected token '{token.text}', expecting '{expected}'"
        return cls(token.file, token.line, text, kind=SYNTAX, column=token.column)

    def with_prefix(self, prefix: str) -> CorefileError:
        """The same error with `prefix` in front, as `plugin/cache: `; prefixes add up."""
        return CorefileError(
            self.file, self.line, self.text, kind=self.kind, prefix=prefix + self.prefix, column=self.column
        )
