"""Environment variables in tokens: `{%NAME%}` and `{$NAME}`, replaced until none is left."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from waypost.corefile.errors import CorefileError
from waypost.corefile.limits import Budget
from waypost.corefile.model import Token

FORMS: Final = (("{%", "%}"), ("{$", "}"))
MAX_REPLACEMENTS: Final = 1_000
SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Variables:
    """Expands tokens with one environment, within one budget."""

    __slots__ = ("budget", "env")

    def __init__(self, env: Mapping[str, str], budget: Budget) -> None:
        self.env = env
        self.budget = budget

    def expand(self, token: Token) -> Token:
        """`token` with its variables replaced; an unset one is empty. It stays one token, whatever the values hold.

        A reference without a name or without an end stops the search and is kept as it stands. Raises
        CorefileError if a variable's value refers to itself, or multiplies beyond the budget.
        """
        text = token.text
        for opening, closing in FORMS:
            if opening in text:
                text = self.replace_all(text, opening, closing, token)
        return token if text is token.text else token._replace(text=text)

    def replace_all(self, text: str, opening: str, closing: str, token: Token) -> str:
        for _ in range(MAX_REPLACEMENTS):
            start = text.find(opening)
            end = text.find(closing, start)
            if start < 0 or end <= start + len(opening):
                return text
            reference = text[start : end + len(closing)]
            value = valid_text(self.env.get(reference[len(opening) : -len(closing)], ""))
            times = text.count(reference)
            self.budget.spend_characters(len(text) + times * len(value), token)
            text = text.replace(reference, value)
        raise CorefileError.at(token, "environment variables expand without end")


def valid_text(value: str) -> str:
    """`value` with U+FFFD for each surrogate: so the environment, and lenient readers, give bytes that are no UTF-8."""
    return value if value.isascii() else SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
