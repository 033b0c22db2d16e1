from pathlib import Path

import pytest

from support.asking import block
from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.tsig import parse, setup
from waypost.plugins.tsig.config import Config, with_keys
from waypost.wire import consts

AXFR = frozenset((consts.TYPE_AXFR, consts.TYPE_A))


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("tsig", Config()),
        (
            "tsig a.org b.org {\n secret K a\n secret l.org. b\n}",
            Config(("a.org", "b.org"), {"k.": "a", "l.org.": "b"}),
        ),
        ("tsig {\n require AXFR A\n secrets f\n secrets g\n}", Config(files=("f", "g"), types=AXFR)),
        ("tsig {\n require all\n require_opcode NOTIFY\n}", Config(types=None, opcodes=frozenset((4,)))),
        ("tsig {\n require A\n require none\n require_opcode all\n}", Config(opcodes=None)),
    ],
)
def test_what_is_read(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("secret k.", "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'k.'"),
        (
            "secrets",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'secrets'",
        ),
        (
            "require FOO",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'FOO'",
        ),
        (
            "require_opcode",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'require_opcode'",
        ),
        ("foo", "Corefile:3 - Error during parsing: unknown property 'foo'"),
        ("secret k a\n secret K. b", 'key "k." redefined'),
    ],
)
def test_what_is_refused(line: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"tsig {{\n {line}\n}}"))
    assert str(caught.value) == error


@pytest.mark.parametrize(
    "text",
    [
        'key "a.org." {\n algorithm hmac-sha256;\n secret "c2VjcmV0";\n};\nkey b { secret x; };',
        "// a comment\nkey A.org{algorithm x;secret c2VjcmV0;};# b\n/* c\n */ key b. {\n\n secret x ;\n}\n",
    ],
)
def test_files_of_keys(text: str) -> None:
    assert with_keys({}, text) == {"a.org.": "c2VjcmV0", "b.": "x"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("foo", 'unexpected token "foo"'),
        ("key", 'expected key name after "key"'),
        ('key "a"', 'expected "{" behind the name of a key'),
        ("key a { secret x }", 'expected ";" behind "secret"'),
        ("key a { foo x; };", 'unexpected token "foo"'),
        ("key a { algorithm x; };", 'expected secret for key "a."'),
        ("key a { secret x;", 'expected "}" at the end of a key'),
        ("key a { secret x; }; key A. { secret x; };", 'key "a." redefined'),
    ],
)
def test_files_that_are_refused(text: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:
        with_keys({}, text)
    assert str(caught.value) == error


def test_files_are_read_at_setup(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    with pytest.raises(CorefileError) as caught:
        block(setup, f"tsig {{\n secrets {path}\n}}")
    assert str(caught.value) == f"open {path}: no such file or directory"
    path.write_text("key a {")
    with pytest.raises(CorefileError) as caught:
        block(setup, f"tsig {{\n secrets {path}\n}}")
    assert str(caught.value) == f'{path}: expected "}}" at the end of a key'


def test_a_secret_that_is_no_base64_is_a_warning() -> None:
    served = block(setup, "tsig {\n secret k. !!!\n}")
    assert served.process.lines == ["[WARNING] key k. cannot be used: its secret must be base64"]
