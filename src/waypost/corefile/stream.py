"""The tokens still to be parsed, with imports put in where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from waypost.corefile.limits import Budget
from waypost.corefile.model import Token


class Origin(NamedTuple):
    """Where tokens come from: a file's absolute name or a snippet's `(name)`, and the import that led there."""

    key: str
    parent: Origin | None = None
    depth: int = 0

    def child(self, key: str) -> Origin:
        """The origin of what an import line of this origin brings in."""
        return Origin(key, self, self.depth + 1)

    def leads_back_to(self, key: str) -> bool:
        """Whether `key` is this origin or one that led to it."""
        origin: Origin | None = self
        while origin is not None:
            if origin.key == key:
                return True
            origin = origin.parent
        return False


class TokenStream:
    """Tokens read one at a time, with one of look-back.

    `current` is the token read last; before the first it is an empty one at line 0. The remaining tokens are kept
    in reverse, so that putting in an import costs its own length, however much text follows.
    """

    __slots__ = ("budget", "current", "origin", "pending", "previous")

    def __init__(self, tokens: Sequence[Token], origin: Origin, start: Token, budget: Budget) -> None:
        self.current = start
        self.previous = start
        self.origin = origin
        self.budget = budget
        self.pending = [(token, origin) for token in reversed(tokens)]

    @property
    def starts_line(self) -> bool:
        """Whether the current token is the first on its line."""
        return not self.current.continues(self.previous)

    def next(self) -> bool:
        """Step to the next token; False at the end, where the last token stays the current one."""
        if not self.pending:
            return False
        self.previous = self.current
        self.current, self.origin = self.pending.pop()
        return True

    def next_on_line(self) -> bool:
        """Step to the next token if it stands on the line of the current one."""
        return bool(self.pending) and self.pending[-1][0].continues(self.current) and self.next()

    def step_back(self) -> None:
        """Make the current token the next one again. Only once between two steps forward."""
        self.pending.append((self.current, self.origin))
        self.current = self.previous

    def put_in(self, after: Token, pieces: Iterable[tuple[Origin, Sequence[Token]]]) -> None:
        """Make `after` the current token again, and the tokens of `pieces` the next ones.

        Raises CorefileError when the budget is used up.
        """
        for origin, tokens in reversed(list(pieces)):
            self.budget.spend_tokens(tokens, self.current)
            self.pending.extend((token, origin) for token in reversed(tokens))
        self.current = after
