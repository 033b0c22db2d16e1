"""Any text is a pattern or is refused with Go's words: nothing of Python's `re` shows through."""

from __future__ import annotations

import warnings

from hypothesis import example, given, settings
from hypothesis import strategies as st

from waypost.toolkit.regexp import compile_regexp

SYNTAX = st.sampled_from([*"()[]{}|*+?^$.\\-:,019abzi", "(?", "(?P<n>", "[[:", ":]]", r"\p", r"\Q", r"\E", r"\x"])


@settings(deadline=None)  # the first use of a Unicode category goes through all code points
@given(st.lists(st.one_of(SYNTAX, st.characters()), max_size=20).map("".join))
@example("[[a--b||c~~d&&e]")
@example("(?i-)")
def test_compiles_or_is_refused(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refusal = None
        try:
            compile_regexp(text).search("ab")
        except ValueError as error:
            refusal = error
    assert refusal is None or str(refusal).startswith("error parsing regexp: ")


PLAIN = st.lists(
    st.sampled_from(
        ["a", "b", "ab", "[ab]", "[^a]", ".", r"\w", "a|b", "(a)", "(b|)", "a*", "b+?", "(?i)A", "$", "^", r"\b"]
    ),
    max_size=6,
).map("".join)


@given(PLAIN, st.text("abAB. \n", max_size=12))
def test_both_matchers_find_the_same(text: str, subject: str) -> None:
    plain, linear = compile_regexp(text).search(subject), compile_regexp(f"(?:z){{0}}{text}").search(subject)
    assert (plain and (plain[0], plain.groups())) == (linear and (linear[0], linear.groups()))
