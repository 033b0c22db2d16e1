"""Any text is a pattern or is refused with Go's words: nothing of Python's `re` shows through."""

from __future__ import annotations

import re
import warnings

from hypothesis import example, given
from hypothesis import strategies as st

from waypost.toolkit.regexp import compile_regexp

SYNTAX = st.sampled_from([*"()[]{}|*+?^$.\\-:,019abzi", "(?", "(?P<n>", "[[:", ":]]", r"\p", r"\Q", r"\E", r"\x"])


@given(st.lists(st.one_of(SYNTAX, st.characters()), max_size=20).map("".join))
@example("[[a--b||c~~d&&e]")
@example("(?i-)")
def test_compiles_or_is_refused(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            pattern = compile_regexp(text)
        except ValueError as error:
            assert not isinstance(error, re.error)
            assert str(error).startswith("error parsing regexp: ")
        else:
            pattern.search("ab")
