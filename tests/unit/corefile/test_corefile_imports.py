import pytest

from support.corefiles import KNOWN, DictReader, labels, parse_corefile, words
from waypost.corefile import imports, limits
from waypost.corefile.errors import CorefileError
from waypost.corefile.parser import parse


def error(text: str, files: dict[str, str] | None = None, env: dict[str, str] | None = None) -> str:
    with pytest.raises(CorefileError) as caught:
        parse_corefile(text, files, env)
    return str(caught.value)


def body(text: str, files: dict[str, str] | None = None) -> dict[str, list[str]]:
    """What the only block holds."""
    (block,) = parse_corefile(text, files).blocks
    return words(block)


def test_snippet_in_a_block() -> None:
    assert body("(s) {\n cache {\n success 1\n }\n}\n. {\n import s\n whoami\n}") == {
        "cache": ["cache", "{", "success", "1", "}"],
        "whoami": ["whoami"],
    }


def test_snippet_of_whole_blocks() -> None:
    corefile = parse_corefile("(s) {\n a {\n whoami\n }\n b {\n }\n}\nimport s\nc {\n}")
    assert [labels(block) for block in corefile.blocks] == [["a"], ["b"], ["c"]]


def test_snippet_in_a_plugin_block_and_nested() -> None:
    text = "(a) {\n success 1\n}\n(b) {\n denial 2\n import a\n}\n. {\n cache {\n import b\n }\n}"
    assert body(text) == {"cache": ["cache", "{", "denial", "2", "success", "1", "}"]}


def test_snippet_that_begins_with_an_import_in_a_plugin_block() -> None:
    text = "(a) {\n success 1\n}\n(b) {\n import a\n}\n. {\n cache {\n import b\n }\n}"
    assert body(text) == {"cache": ["cache", "{", "success", "1", "}"]}


def test_snippet_twice_makes_arguments_of_the_second() -> None:
    (block,) = parse_corefile("(s) {\n errors\n}\n. {\n import s\n import s\n}").blocks
    first, second = block.directives[0].tokens
    assert second.continues(first)


@pytest.mark.parametrize("where", ["import s", "import s # c", '"import" "s"', "import {$S}"])
def test_spellings_of_the_import_line(where: str) -> None:
    (block,) = parse_corefile("(s) {\n whoami\n}\n. {\n " + where + "\n}", env={"S": "s"}).blocks
    assert words(block) == {"whoami": ["whoami"]}


def test_empty_and_unused_snippets() -> None:
    assert body("(e) {\n}\n(u) {\n nosuch\n}\nimport e\n. {\n import e\n whoami\n}") == {"whoami": ["whoami"]}
    assert parse_corefile("(e) {\n}\nimport e").blocks == ()


def test_import_is_a_word_like_others_elsewhere() -> None:
    assert body("import. {\n cache import x\n}") == {"cache": ["cache", "import", "x"]}
    assert [labels(block) for block in parse_corefile("a import b {\n}").blocks] == [["a", "import", "b"]]
    assert body("(log) {\n log import log\n}\n. {\n import log\n}") == {"log": ["log", "import", "log"]}


PARSING = "Error during parsing:"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(s) {\n}\n\n(s) {\n}", f"Corefile:4 - {PARSING} redeclaration of previously declared snippet s"),
        ("(s)\nwhoami", "Corefile:2 - Syntax error: Unexpected token 'whoami', expecting '{'"),
        ("(s) {\n whoami\n", "Corefile:2 - Syntax error: Unexpected token 'whoami', expecting '}'"),
        ("(e) {\n}\n. {\n import e\n", "Corefile:3 - Syntax error: Unexpected token '{', expecting '}'"),
        ("import", f"Corefile:1 - {PARSING} Wrong argument count or unexpected line ending after 'import'"),
        (". {\n import\n}", f"Corefile:2 - {PARSING} Wrong argument count or unexpected line ending after 'import'"),
        ('import ""', f"Corefile:1 - {PARSING} Import requires a non-empty filepath"),
        ("import {$NONE}", f"Corefile:1 - {PARSING} Import requires a non-empty filepath"),
        ("import a b", f"Corefile:1 - {PARSING} Import takes only one argument (glob pattern or file)"),
        ("import a", f"Corefile:1 - {PARSING} File to import not found: a"),
        ("import s\n(s) {\n}", f"Corefile:1 - {PARSING} File to import not found: s"),
        ("a,\nimport e", f"Corefile:2 - {PARSING} File to import not found: e"),
        (
            ". {\n import */*.conf\n}",
            f"Corefile:2 - {PARSING} Glob pattern may only contain one wildcard (*), but has others: /conf/*/*.conf",
        ),
        (
            "import /a?b?",
            f"Corefile:1 - {PARSING} Glob pattern may only contain one wildcard (*), but has others: /a?b?",
        ),
        (
            "import [ab]",
            f"Corefile:1 - {PARSING} Glob pattern may only contain one wildcard (*), but has others: /conf/[ab]",
        ),
        ("import [ab", f"Corefile:1 - {PARSING} Failed to use import pattern [ab: syntax error in pattern"),
    ],
)
def test_errors(text: str, expected: str) -> None:
    assert error(text) == expected


def test_file_at_each_place() -> None:
    files = {"/conf/top": "a {\n whoami\n}\n", "/conf/body": "cache 30", "/conf/options": "success 1\n"}
    corefile = parse_corefile("import top\nb {\n import body\n hosts {\n import options\n }\n}", files)
    assert [labels(block) for block in corefile.blocks] == [["a"], ["b"]]
    assert words(corefile.blocks[1]) == {"cache": ["cache", "30"], "hosts": ["hosts", "{", "success", "1", "}"]}
    assert corefile.files == ("/conf/Corefile", "/conf/top", "/conf/body", "/conf/options")


def test_labels_from_a_file() -> None:
    (block,) = parse_corefile("a,\nimport names\n{\n whoami\n}", {"/conf/names": "b c,\nd\n"}).blocks
    assert labels(block) == ["a", "b", "c", "d"]


def test_relative_paths_start_at_the_file_with_the_import() -> None:
    files = {"/etc/sub/one": "import two", "/etc/sub/two": "whoami"}
    corefile = parse(". {\n import sub/one\n}", "/etc/Corefile", env={}, known=KNOWN, read=DictReader(files))
    assert words(corefile.blocks[0]) == {"whoami": ["whoami"]}
    assert corefile.blocks[0].directives[0].tokens[0].file == "/etc/sub/two"


def test_import_from_the_root_directory() -> None:
    corefile = parse("import x", "/Corefile", env={}, known=KNOWN, read=DictReader({"/x": "a {\n}"}))
    assert labels(corefile.blocks[0]) == ["a"]


def test_errors_in_an_imported_file_name_it() -> None:
    assert error("import inc", {"/conf/inc": ". {\n\n foo\n}"}) == (
        "/conf/inc:3 - Error during parsing: Unknown directive 'foo'"
    )


def test_snippet_defined_in_a_file() -> None:
    assert body("import lib\n. {\n import s\n}", {"/conf/lib": "(s) {\n whoami\n}"}) == {"whoami": ["whoami"]}


def test_glob_is_sorted_and_worth_a_warning_only() -> None:
    files = {"/conf/c/b.conf": "b {\n}", "/conf/c/a.conf": "a {\n}", "/conf/c/x.txt": "}"}
    corefile = parse_corefile("import c/*.conf\nimport c/*.none\nimport c/n?ne\nimport c]\n", files)
    assert [labels(block) for block in corefile.blocks] == [["a"], ["b"]]
    assert corefile.warnings == (
        "No files matching import glob pattern: c/*.none",
        "No files matching import glob pattern: c/n?ne",
        "No files matching import glob pattern: c]",
    )
    assert corefile.files == ("/conf/Corefile", "/conf/c/a.conf", "/conf/c/b.conf")


def test_directories_and_unreadable_files() -> None:
    assert error("import c", {"/conf/c/x": ""}) == (
        "Corefile:1 - Error during parsing: Could not import /conf/c: is a directory"
    )
    read = DictReader({"/conf/x": ""}, denied=("/conf/x",))
    with pytest.raises(CorefileError, match=r"Could not import /conf/x: open /conf/x: permission denied$"):
        parse("import x", "Corefile", env={}, known=KNOWN, read=read)


def test_a_file_imported_often_is_read_once() -> None:
    read = DictReader({"/conf/x": "whoami\n"})
    text = "".join(f"z{n} {{\n import x\n}}\n" for n in range(20))
    assert len(parse(text, "Corefile", env={}, known=KNOWN, read=read).blocks) == 20
    assert read.reads == ["/conf/x"]


SNIPPET_CYCLE = "maximum snippet import depth (10000) exceeded"
FILE_CYCLE = "maximum file import depth (10000) exceeded"


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        ("(a) {\n import a\n}", {}, f"Corefile:3 - {PARSING} {SNIPPET_CYCLE}"),
        ("(a) { import a\n}\nimport a", {}, f"Corefile:1 - {PARSING} {SNIPPET_CYCLE}"),
        ("(a) {\n import b\n}\n(b) {\n import a\n}\nimport a", {}, f"Corefile:5 - {PARSING} {SNIPPET_CYCLE}"),
        (
            "(a) {\n log\n import b\n}\n(b) {\n import a\n}\n. {\n import b\n}",
            {},
            f"Corefile:3 - {PARSING} {SNIPPET_CYCLE}",
        ),
        (". {\n cache {\n import x\n }\n}", {"x": "import x"}, f"/conf/x:1 - {PARSING} {FILE_CYCLE}"),
        ("import x", {"x": "import y", "y": "\nimport ../conf/x"}, f"/conf/y:2 - {PARSING} {FILE_CYCLE}"),
        ("import *", {"x": "import *"}, f"/conf/x:1 - {PARSING} {FILE_CYCLE}"),
        ("import Corefile", {"Corefile": ""}, f"Corefile:1 - {PARSING} {FILE_CYCLE}"),
        ("(s) {\n import x\n}\nimport s", {"x": "import s"}, f"/conf/x:1 - {PARSING} {SNIPPET_CYCLE}"),
    ],
)
def test_cycles_end_at_once(text: str, files: dict[str, str], expected: str) -> None:
    """B125: a file that imports itself was read for ever."""
    assert error(text, {f"/conf/{name}": content for name, content in files.items()}) == expected


def test_the_same_snippet_by_two_ways_is_no_cycle() -> None:
    text = "(a) {\n success 1\n}\n(b) {\n import a\n}\n(c) {\n import a\n import b\n}\n. {\n cache {\n import c\n }\n}"
    assert body(text)["cache"].count("success") == 2


def doubling(levels: int, innermost: str) -> str:
    """Snippets of which each imports the one before it twice."""
    text = f"(s0) {{\n {innermost}\n}}\n"
    for level in range(1, levels):
        text += f"(s{level}) {{\n import s{level - 1}\n import s{level - 1}\n}}\n"
    return text + f". {{\n import s{levels - 1}\n}}\n"


@pytest.mark.parametrize("innermost", ["log", ""])
def test_multiplying_snippets_end(innermost: str) -> None:
    """S22"""
    assert error(doubling(60, innermost)).endswith(SNIPPET_CYCLE)


def test_multiplying_tokens_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """S22"""
    text = f"(s) {{\n log {'x ' * 5000}\n}}\n. {{\n" + "import s\n" * 500 + "}"
    assert error(text).endswith(f"too many tokens, at most {limits.MAX_TOKENS} are allowed")


def test_multiplying_text_ends() -> None:
    """S22"""
    text = f"(s) {{\n log {'x' * 100_000}\n}}\n. {{\n" + "import s\n" * 500 + "}"
    assert error(text).endswith(f"too much text, at most {limits.MAX_CHARACTERS} characters are allowed")


def test_depth_and_number_of_imports_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """S22"""
    chain = {f"/conf/f{n}": f"import f{n + 1}" for n in range(9)} | {"/conf/f9": "a {\n}"}
    assert labels(parse_corefile("import f0", chain).blocks[0]) == ["a"]
    monkeypatch.setattr(imports, "MAX_IMPORT_DEPTH", 9)
    assert error("import f0", chain) == f"/conf/f8:1 - {PARSING} {FILE_CYCLE}"
    monkeypatch.setattr(imports, "MAX_IMPORTS", 4)
    text = "import x\n" * 4
    assert parse_corefile(text, {"/conf/x": ""}).blocks == ()
    assert "maximum file import depth" in error(text + "import x", {"/conf/x": ""})
