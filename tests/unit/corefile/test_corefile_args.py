import pytest

from support.corefiles import cursor
from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive, Token


def read(text: str, files: dict[str, str] | None = None) -> list[tuple[list[str], list[tuple[str, list[str]]]]]:
    """Arguments and options of each occurrence."""
    place = cursor(text, files)
    return [(args, list(place.options())) for args in place.occurrences()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("errors", [([], [])]),
        ("cache 30 a b", [(["30", "a", "b"], [])]),
        ("cache 30 {\n}", [(["30"], [])]),
        ("cache { }", [([], [])]),
        ("cache a {\n success 1 2\n\n keepttl\n}", [(["a"], [("success", ["1", "2"]), ("keepttl", [])])]),
        ("cache a\ncache b {\n x\n}\ncache", [(["a"], []), (["b"], [("x", [])]), ([], [])]),
        ('log . "a\nb" c {\n class\n}', [([".", "a\nb", "c"], [("class", [])])]),
        # A closing brace on an option's line is an argument, and the end of the tokens then ends the block.
        ("cache { success 1 }", [([], [("success", ["1", "}"])])]),
    ],
)
def test_occurrences_and_options(text: str, expected: object) -> None:
    assert read(text) == expected


def test_a_block_on_the_next_line_is_read_as_further_occurrences() -> None:
    assert read("log .\n{\nclass error\n}") == [(["."], []), ([], []), (["error"], []), ([], [])]


def test_a_snippet_imported_twice_is_read_as_arguments() -> None:
    assert read("import s\nimport s", {"/conf/s": "errors"}) == [(["errors"], [])]
    assert read("import s\nimport s", {"/conf/s": "errors\n\n"}) == [(["errors"], [])]
    assert read("import s\nimport t", {"/conf/s": "errors", "/conf/t": "errors"}) == [([], []), ([], [])]


def test_a_block_within_a_block_ends_it() -> None:
    text = "hosts {\n 10.0.0.1 a {\n }\n}"
    assert read(text) == [([], [("10.0.0.1", ["a"]), ("{", [])]), ([], [])]


def test_options_left_unread_become_occurrences() -> None:
    place = cursor("cache {\n success 1\n}")
    assert list(place.occurrences()) == [[], [], ["1"], []]


def test_arguments_left_unread_become_options() -> None:
    place = cursor("cache {\n success 1 2\n}")
    assert place.next()
    names = []
    while place.next_block():
        names.append(place.value)
    assert names == ["success", "1", "2"]
    assert not place.next_block()


def test_a_block_opens_only_behind_the_last_argument() -> None:
    place = cursor("cache 30 {\n x\n}")
    assert place.next()
    assert not place.next_block()
    assert place.value == "cache"
    assert place.remaining_args() == ["30"]
    assert place.next_block()
    assert place.value == "x"


def test_single_steps() -> None:
    place = cursor('log a "b\nc" d\nlog')
    assert (place.value, place.file, place.line) == ("", "Corefile", 0)
    assert place.next_arg()
    assert place.value == "log"
    assert not place.next_line()
    assert place.args(3) == ["a", "b\nc", "d"]
    assert place.args(1) == []
    assert not place.next_arg()
    assert place.next_line()
    assert (place.value, place.line) == ("log", 3)
    assert not place.next()
    assert not place.next_line()
    assert place.value == "log"


def test_args_takes_braces_and_remaining_args_does_not() -> None:
    assert cursor("log a {\n}").args(9) == ["log", "a", "{"]
    place = cursor("log a {\n}")
    assert place.remaining_args() == ["log", "a"]
    assert place.next_block() is False
    assert place.value == "}"


def test_a_block_without_end_ends_with_the_tokens() -> None:
    """Only a variable can bring in a brace that the parser has not counted."""
    tokens = [Token(text, "Corefile", line) for line, text in ((1, "log"), (1, "{"), (2, "a"))]
    place = Cursor(Directive("log", tuple(tokens)))
    assert [(args, list(place.options())) for args in place.occurrences()] == [([], [("a", [])])]
    place = Cursor(Directive("log", tuple(tokens[:2])))
    assert [(args, list(place.options())) for args in place.occurrences()] == [([], [])]


def test_empty_directive() -> None:
    place = Cursor(Directive("log", ()))
    assert [place.next(), place.next_arg(), place.next_line(), place.next_block()] == [False] * 4
    assert str(place.err("x")) == "x"


def test_errors_stand_at_the_token_read_last() -> None:
    place = cursor("cache 30\ncache x {\n success y\n}")
    assert [place.next(), place.next(), place.next()] == [True] * 3
    assert str(place.err("bad")) == "Corefile:2 - Error during parsing: bad"
    assert place.remaining_args() == ["x"]
    assert str(place.arg_err()).endswith("Wrong argument count or unexpected line ending after 'x'")
    assert place.next()
    assert str(place.arg_err()).endswith("Unexpected token '{', expecting argument")
    assert str(place.syntax_err("}")) == "Corefile:2 - Syntax error: Unexpected token '{', expecting '}'"


def test_parsed_gives_a_value_error_its_place() -> None:
    place = cursor("cache 5x")
    assert place.next()
    assert place.parsed(parse_duration, "5s") == 5.0
    expected = '^Corefile:1 - Error during parsing: time: unknown unit "x" in duration "5x"$'
    with pytest.raises(CorefileError, match=expected):
        place.parsed(parse_duration, "5x")
