"""Reading a directive: what plugins use to get at their arguments and options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive, Token
from waypost.corefile.values import format_duration as format_duration
from waypost.corefile.values import parse_bool as parse_bool
from waypost.corefile.values import parse_duration as parse_duration
from waypost.corefile.values import parse_int as parse_int
from waypost.corefile.values import parse_uint as parse_uint

Value = TypeVar("Value")


class Cursor:
    """A place among the tokens of one directive.

    Most plugins need no more than

        for args in cursor.occurrences():
            for name, values in cursor.options():

    The single steps below follow CoreDNS's dispenser, because what a plugin leaves unread decides how the next
    words are taken: an argument left over becomes the next option or occurrence, and a `{` that does not stand on
    the directive's line opens no block. Errors name the line of the token read last.
    """

    __slots__ = ("in_block", "position", "tokens")

    def __init__(self, directive: Directive) -> None:
        self.tokens = directive.tokens
        self.position = -1
        self.in_block = False

    @property
    def token(self) -> Token:
        """The token read last; before the first step an empty one at line 0."""
        if self.position < 0:
            return Token("", self.tokens[0].file if self.tokens else "", 0)
        return self.tokens[self.position]

    @property
    def value(self) -> str:
        """The text of the token read last."""
        return self.token.text

    @property
    def file(self) -> str:
        """The file of the token read last."""
        return self.token.file

    @property
    def line(self) -> int:
        """The line of the token read last."""
        return self.token.line

    def next(self) -> bool:
        """Step to the next token; False, and no step, if there is none."""
        if self.position + 1 >= len(self.tokens):
            return False
        self.position += 1
        return True

    def next_arg(self) -> bool:
        """Step to the next token if it stands on the current line."""
        return self.next_is_on_line() and self.next()

    def next_line(self) -> bool:
        """Step to the next token if it starts a line."""
        return (self.position < 0 or not self.next_is_on_line()) and self.next()

    def next_is_on_line(self) -> bool:
        """Whether there is a next token and it stands on the current line; the first one always does."""
        following = self.tokens[self.position + 1 : self.position + 2]
        return bool(following) and (self.position < 0 or following[0].continues(self.token))

    def next_block(self) -> bool:
        """Step to the first token of the next line of the block that opens here; for use as a loop's condition.

        False when no `{` follows on this line, and at the block's `}`. The caller reads the line to its end;
        whatever is left of it comes back as the next line's first token. Blocks do not nest.
        """
        if not self.in_block:
            if not self.next_arg():
                return False
            if self.value != "{":
                self.position -= 1
                return False
        self.in_block = self.next() and self.value != "}"
        return self.in_block

    def args(self, count: int) -> list[str]:
        """The next `count` arguments of this line, or those that there are; braces are taken like any other."""
        values: list[str] = []
        while len(values) < count and self.next_arg():
            values.append(self.value)
        return values

    def remaining_args(self) -> list[str]:
        """The arguments up to the end of the line or an opening brace, which is left for `next_block`."""
        values: list[str] = []
        while self.next_arg():
            if self.value == "{":
                self.position -= 1
                break
            values.append(self.value)
        return values

    def occurrences(self) -> Iterator[list[str]]:
        """The arguments of each occurrence of the directive; read its block, if any, before the next step."""
        while self.next():
            yield self.remaining_args()

    def options(self) -> Iterator[tuple[str, list[str]]]:
        """Name and arguments of each line of the block that opens here; nothing if none does."""
        while self.next_block():
            name = self.value
            yield name, self.remaining_args()

    def parsed(self, parser: Callable[[str], Value], text: str) -> Value:
        """`parser(text)`, its ValueError turned into a CorefileError at the token read last."""
        try:
            return parser(text)
        except ValueError as error:
            raise self.err(str(error)) from error

    def err(self, text: str) -> CorefileError:
        """An error with `text`, to be raised by the caller."""
        return CorefileError.at(self.token, text)

    def arg_err(self) -> CorefileError:
        """Too many or too few arguments."""
        return CorefileError.argument(self.token)

    def syntax_err(self, expected: str) -> CorefileError:
        """The token read last is not `expected`."""
        return CorefileError.syntax(self.token, expected)
