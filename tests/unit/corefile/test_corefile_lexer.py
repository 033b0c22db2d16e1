import pytest

from waypost.corefile import lexer
from waypost.corefile.errors import CorefileError
from waypost.corefile.lexer import tokenize


def texts(text: str) -> list[str]:
    return [token.text for token in tokenize(text, "Corefile")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a b\tc\nd", ["a", "b", "c", "d"]),
        ("a\u00a0b\u0085c\u3000d\fe", ["a", "b", "c", "d", "e"]),
        ("a\x1cb", ["a\x1cb"]),
        ("\ufeffa", ["a"]),
        ("\ufeff\ufeffa", ["\ufeffa"]),
        ("a\rb c\r\nd\r\n", ["ab", "c", "d"]),
        ('\r"a b"\r', ["a b"]),
        ("\r", []),
        (".:53{ whoami} {}", [".:53{", "whoami}", "{}"]),
        ("{$A} {\n}", ["{$A}", "{", "}"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a b"', ["a b"]),
        ('a"b c"d', ['a"b', 'c"d']),
        ('"a"b', ["a", "b"]),
        ('"a""b"', ["a", "b"]),
        ('""', [""]),
        (r'"\"a\""', ['"a"']),
        (r'"a\\b\n"', [r"a\\b\n"]),
        (r'"a\\" b', [r"a\\", "b"]),
        (r"a\"b", [r"a\"b"]),
        ('"a # b"', ["a # b"]),
        ('"a\r\nb"', ["a\r\nb"]),
        ('"a b', ["a b"]),
        ('a "', ["a"]),
        ('"\\', []),
        ('"a\\', ["a"]),
    ],
)
def test_quotes(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a b\nc", ["c"]),
        ("a # b c\nd", ["a", "d"]),
        ("a #b c\nd", ["a", "d"]),
        ("chaos a#b c d", ["chaos", "a", "c", "d"]),
        ("a#b\nc", ["a", "c"]),
        ("a#b\rc d", ["a", "d"]),
        ('"a"#b c\nd', ["a", "d"]),
        ("a#", ["a"]),
        ('# "a\nb', ["b"]),
    ],
)
def test_comments(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_places_are_those_where_tokens_start() -> None:
    tokens = tokenize('a\n\n"b\nc" d # e\nf\r\ng\fh', "Corefile")
    assert [(token.text, token.line, token.breaks) for token in tokens] == [
        ("a", 1, 0),
        ("b\nc", 3, 1),
        ("d", 4, 0),
        ("f", 5, 0),
        ("g", 6, 0),
        ("h", 6, 0),
    ]
    assert {token.file for token in tokens} == {"Corefile"}


def test_a_word_continues_the_line_on_which_a_quoted_one_ends() -> None:
    first, second, third = tokenize('"a\nb" c\nd', "Corefile")
    assert second.continues(first)
    assert not third.continues(second)
    assert not second._replace(file="other").continues(first)


def test_long_quotes_take_linear_work() -> None:
    """S22"""
    assert len(texts('"' + r"\"" * 300_000)[0]) == 300_000


def test_the_number_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """S22"""
    monkeypatch.setattr(lexer, "MAX_TOKENS", 3)
    with pytest.raises(CorefileError, match=r"^Corefile:2 - Error during parsing: too many tokens, at most 3"):
        tokenize("a b c\nd e", "Corefile")


def test_columns_count_characters_from_1() -> None:
    tokens = tokenize('\ufeffab  c\r "d\ne" f\n\t\u00e9 g#x h\n\n"i"', "Corefile")
    assert [(token.text, token.line, token.column) for token in tokens] == [
        ("ab", 1, 1), ("c", 1, 5), ("d\ne", 1, 8), ("f", 2, 4), ("\u00e9", 3, 2), ("g", 3, 4), ("h", 3, 8), ("i", 5, 1),
    ]  # fmt: skip


def test_a_nul_character_is_refused_where_it_stands() -> None:
    with pytest.raises(CorefileError) as caught:
        tokenize("a\n bc\0d", "Corefile")
    assert (caught.value.line, caught.value.column) == (2, 4)
