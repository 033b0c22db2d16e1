import pytest

from support.corefiles import KNOWN, DictReader, labels, parse_corefile, words
from waypost.corefile import limits
from waypost.corefile.errors import CorefileError
from waypost.corefile.parser import parse


def blocks(text: str) -> list[tuple[list[str], dict[str, list[str]]]]:
    return [(labels(block), words(block)) for block in parse_corefile(text).blocks]


def error(text: str, **files: str) -> str:
    with pytest.raises(CorefileError) as caught:
        parse_corefile(text, files)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only a comment\n", []),
        ("(s) {\n whoami\n}\n", []),
        (". {\n}\n", [(["."], {})]),
        (".:53 { }", [([".:53"], {})]),
        ("a.org:53", [(["a.org:53"], {})]),
        ("a.org, b.org\n", [(["a.org", "b.org"], {})]),
        (". {\n whoami\n}", [(["."], {"whoami": ["whoami"]})]),
        (". { whoami\n}", [(["."], {"whoami": ["whoami"]})]),
        (".\n{\n whoami\n}", [(["."], {"whoami": ["whoami"]})]),
        (".\nwhoami\nlog a", [(["."], {"whoami": ["whoami"], "log": ["log", "a"]})]),
        (". { errors { }\n}", [(["."], {"errors": ["errors", "{", "}"]})]),
        ("a b.org,c {\n}", [(["a", "b.org,c"], {})]),
        ("a,\n\nb,c,\nd {\n}", [(["a", "b,c", "d"], {})]),
        ('a "" b {\n}', [(["a", "b"], {})]),
        ('"a b" {\n}', [(["a b"], {})]),
        ("{\n whoami\n}", [([], {"whoami": ["whoami"]})]),
        ("{\n}", []),
        ("a {\n}\nb {\n}", [(["a"], {}), (["b"], {})]),
        ("a {\n} b {\n}", [(["a"], {}), (["b"], {})]),
        (". {\n whoami\n}\n}\n", [(["."], {"whoami": ["whoami"]}), (["}"], {})]),
        (".\nwhoami\n}\nb {\n}", [(["."], {"whoami": ["whoami"]}), (["b"], {})]),
        (". # c {\n{\n}", [(["."], {})]),
        # The brace that closes the plugin's block is taken for the missing one of the server block, too.
        (". {\n errors {\n }\n", [(["."], {"errors": ["errors", "{", "}"]})]),
    ],
)
def test_blocks(text: str, expected: object) -> None:
    assert blocks(text) == expected


def test_occurrences_of_a_directive_are_joined_in_the_order_of_first_appearance() -> None:
    ((_, found),) = blocks(". {\n log a\n cache 30\n log b {\n class error\n }\n}")
    assert list(found.items()) == [
        ("log", ["log", "a", "log", "b", "{", "class", "error", "}"]),
        ("cache", ["cache", "30"]),
    ]


def test_a_block_on_the_next_line_belongs_to_the_directive_all_the_same() -> None:
    ((_, found),) = blocks(". {\n log .\n {\n class error\n }\n whoami\n}")
    assert found == {"log": ["log", ".", "{", "class", "error", "}"], "whoami": ["whoami"]}


def test_a_quoted_argument_may_span_lines() -> None:
    ((_, found),) = blocks('. {\n log . "a\nb" c\n whoami\n}')
    assert found == {"log": ["log", ".", "a\nb", "c"], "whoami": ["whoami"]}


UNMATCHED = "Unexpected '}' because no matching opening brace"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".:53 { whoami }", f"Corefile:1 - Error during parsing: {UNMATCHED}"),
        (". {\n chaos x }", f"Corefile:2 - Error during parsing: {UNMATCHED}"),
        (". {\n cache {\n } }", f"Corefile:3 - Error during parsing: {UNMATCHED}"),
        ('. {\n log . "}"\n}', f"Corefile:2 - Error during parsing: {UNMATCHED}"),
        (". {\n whoami\n", "Corefile:2 - Syntax error: Unexpected token 'whoami', expecting '}'"),
        (". {", "Corefile:1 - Syntax error: Unexpected token '{', expecting '}'"),
        (". {\n cache {\n success 1\n", "Corefile:3 - Error during parsing: Unexpected EOF"),
        ("a,\n", "Corefile:1 - Error during parsing: Unexpected EOF"),
        (
            "a,\n{\n}",
            "Corefile:2 - Error during parsing: Expected another address but had '{' - check for extra comma",
        ),
        (". {\n\n foo a\n}", "Corefile:3 - Error during parsing: Unknown directive 'foo'"),
        (". {\n Whoami\n}", "Corefile:2 - Error during parsing: Unknown directive 'Whoami'"),
        ('. {\n ""\n}', "Corefile:2 - Error during parsing: Unknown directive ''"),
        ("a\nwhoami\n\nb.org:53\nlog", "Corefile:4 - Error during parsing: Unknown directive 'b.org:53'"),
        ("a {\n}\n}\nb {\n}", "Corefile:4 - Error during parsing: Unknown directive 'b'"),
    ],
)
def test_errors(text: str, expected: str) -> None:
    assert error(text) == expected


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("{$Z}:53 {\n}", {"Z": "a.org"}, [(["a.org:53"], {})]),
        ("{%Z%} {\n}", {"Z": "a.org"}, [(["a.org"], {})]),
        ("{$Z} b {\n}", {}, [(["b"], {})]),
        ("{$Z} {\n}", {"Z": "a b"}, [(["a b"], {})]),
        (". {\n {$D} x\n}", {"D": "log"}, [(["."], {"log": ["log", "x"]})]),
        (". {\n chaos {$V}\n}", {}, [(["."], {"chaos": ["chaos", ""]})]),
        ('. {\n log "{$A} {name}"\n}', {"A": "x"}, [(["."], {"log": ["log", "x {name}"]})]),
        (". { # {$A}\n}", {"A": "x"}, [(["."], {})]),
        # A value with a newline does not pull the next line into the directive.
        (". {\n cache {$A}\n whoami\n}", {"A": "30\n"}, [(["."], {"cache": ["cache", "30\n"], "whoami": ["whoami"]})]),
    ],
)
def test_variables(text: str, env: dict[str, str], expected: object) -> None:
    corefile = parse_corefile(text, env=env)
    assert [(labels(block), words(block)) for block in corefile.blocks] == expected


def test_a_variable_stays_one_word() -> None:
    with pytest.raises(CorefileError, match=r"^Corefile:2 - Error during parsing: Unknown directive 'chaos ok'$"):
        parse_corefile(". {\n {$D}\n}", env={"D": "chaos ok"})


def test_tokens_keep_the_name_given_and_files_are_absolute() -> None:
    corefile = parse("a {\n whoami\n}", "x/Corefile", env={}, known=KNOWN, read=DictReader(), base="/etc")
    assert corefile.blocks[0].labels[0].file == "x/Corefile"
    assert corefile.files == ("/etc/x/Corefile",)


def test_equal_texts_compare_equal_and_moved_lines_do_not() -> None:
    text = ". {\n cache 30 # a\n}"
    assert parse_corefile(text) == parse_corefile(text.replace("# a", "# b"))
    assert parse_corefile(text) != parse_corefile("# first\n" + text)
    assert parse_corefile(text) != parse_corefile(text.replace("30", "31"))


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """S22"""
    text = "a" * (limits.MAX_CHARACTERS + 1)
    assert error(text).endswith(f"too much text, at most {limits.MAX_CHARACTERS} characters are allowed")
