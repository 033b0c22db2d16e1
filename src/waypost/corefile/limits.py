"""What one Corefile may cost at most. Snippets and variables can multiply text; these bounds end that early."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Token

MAX_TOKENS: Final = 1_000_000
MAX_CHARACTERS: Final = 16 * 1024 * 1024
# CoreDNS names this number in its texts. It counts the import lines carried out, not how deep they nest.
MAX_IMPORTS: Final = 10_000
# Far beyond any real nesting; keeps the search for a cycle cheap.
MAX_IMPORT_DEPTH: Final = 1_000


class Budget:
    """Counts down the tokens and characters that one parse may still use, imported and expanded ones included."""

    __slots__ = ("characters", "tokens")

    def __init__(self, tokens: int = MAX_TOKENS, characters: int = MAX_CHARACTERS) -> None:
        self.tokens = tokens
        self.characters = characters

    def spend_tokens(self, tokens: Iterable[Token], at: Token) -> None:
        """Take off `tokens`. Raises CorefileError at the token `at` when the budget is used up."""
        texts = [token.text for token in tokens]
        self.tokens -= len(texts)
        if self.tokens < 0:
            raise CorefileError.at(at, f"too many tokens, at most {MAX_TOKENS} are allowed")
        self.spend_characters(sum(map(len, texts)), at)

    def spend_characters(self, count: int, at: Token) -> None:
        """Take off `count` characters. Raises CorefileError at the token `at` when the budget is used up."""
        self.characters -= count
        if self.characters < 0:
            raise CorefileError.at(at, f"too much text, at most {MAX_CHARACTERS} characters are allowed")
