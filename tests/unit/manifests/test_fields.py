"""What is said of a field that does not fit."""

from __future__ import annotations

import pytest

from waypost.manifests.fields import explain

MESSAGES = [
    ("Expected `int`, got `str` - at `$.a[0].b`", {"a": [{"b": "x"}]}, "a[0].b: expected an integer, got 'x'"),
    ("Expected `str`, got `int` - at `$.a[...]`", {"a": {"x": "1", "y/z.w": 2}}, "a[y/z.w]: expected a string, got 2"),
    ("Expected `str`, got `null` - at `$.a[0]`", {"a": [None]}, "a[0]: expected a string, got null"),
    ("Expected `wonder` - at `$.a`", {"a": 1.5}, "a: expected wonder, got 1.5"),
    ("Something new - at `$.a.b[7].c`", {"a": 1}, "a.b[7].c: Something new"),
    ("Something `$` new", {}, ": Something `$` new"),
]


@pytest.mark.parametrize(("message", "value", "words"), MESSAGES)
def test_messages(message: str, value: object, words: str) -> None:
    assert str(explain(message, value)) == words
