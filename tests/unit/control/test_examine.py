"""Every error in one go, each with its place; files of another machine; what plugins warn of."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.advice.finding import ERROR, Finding
from waypost.control.document import Document
from waypost.control.examine import examine


def errors(text: str, **options: object) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.found) for each in found(text, **options) if each.severity is ERROR]


def found(text: str, **options: object) -> list[Finding]:
    return examine(Document("Corefile", text, **options))  # type: ignore[arg-type]


def test_all_errors_at_once() -> None:
    text = """\
a.org {
    relaod
    cache -1
    whoami x
}
b.org:x: {
    errors
}
c.org {
    import nowhere
    health {
        foo
    }
}
a.org {
}
"""
    assert errors(text) == [
        (2, 5, "Unknown directive 'relaod'"),
        (3, 5, "plugin/cache: cache TTL can not be zero or negative: -1"),
        (4, 12, "plugin/whoami: Wrong argument count or unexpected line ending after 'x'"),
        (6, 1, 'error inspecting server blocks: expecting data after last colon: "b.org:x:"'),
        (10, 12, "File to import not found: nowhere"),
        (12, 9, "plugin/health: unknown property 'foo'"),
        (15, 1, "cannot serve dns://a.org.:53 - it is already defined"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (". { whoami }\n", [(1, 12, "Unexpected '}' because no matching opening brace")]),
        (". {\n hosts {\n", [(2, 8, "Unexpected EOF")]),
        (". {\n whoami\n", [(2, 2, "Unexpected token 'whoami', expecting '}'")]),
        ("a, {\n}\n", [(1, 4, "Expected another address but had '{' - check for extra comma")]),
        ("(s) {\n log\n}\n(s) {\n}\n", [(4, 5, "redeclaration of previously declared snippet s")]),
        ("(s)\nlog\n", [(2, 1, "Unexpected token 'log', expecting '{'")]),
        (".:99999 {\n whoami\n}\n", [(1, 1, "address 99999: invalid port")]),
        (". {\n bind 127.0.0.1\n}\n. {\n}\n", [
            (1, 1, "cannot serve dns://.:53 on 127.0.0.1 - zone overlap listener capacity with dns://.:53"),
        ]),
        (". {\n import\n errors x\n}\n", [
            (2, 2, "Wrong argument count or unexpected line ending after 'import'"),
            (3, 9, "plugin/errors: invalid log file: x"),
        ]),
        (". {\n foo\n import a b\n}\n", [
            (2, 2, "Unknown directive 'foo'"),
            (3, 9, "Import takes only one argument (glob pattern or file)"),
        ]),
    ],
)  # fmt: skip
def test_errors_of_the_grammar(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert errors(text) == expected


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (". {\n relaod\n}\n", "Did you mean `reload`?"),
        (". {\n xyzzy\n}\n", ""),
        (". {\n proxy . 1.1.1.1\n}\n", "It is gone since CoreDNS 1.5: use `forward`."),
        (". {\n kubernetes a {\n  upstream\n }\n}\n", "It is gone since CoreDNS 1.7, and did nothing: delete it."),
        (". {\n hosts {\n", "The brace that opens in line 2 is never closed."),
        (". {\n cache {\n  servfail 5\n }\n}\n", "Write the unit: `5s`."),
    ],
)
def test_what_to_do_about_an_error(text: str, remedy: str) -> None:
    assert next(each.remedy for each in found(text) if each.severity is ERROR) == remedy


def test_a_place_in_an_imported_file(tmp_path: Path) -> None:
    (tmp_path / "inc").write_text("errors\n  foo\n")
    document = Document(str(tmp_path / "Corefile"), ". {\n import inc\n}\n")
    places = [(each.file, each.line, each.column) for each in examine(document) if each.severity is ERROR]
    assert places == [(str(tmp_path / "inc"), 2, 3)]


def test_a_file_of_another_machine(tmp_path: Path) -> None:
    text = f". {{\n whoami\n tsig {{\n  secrets {tmp_path}/nofile\n }}\n import {tmp_path}/other\n}}\n"
    assert [line for line, _, _ in errors(text)] == [3, 6]
    assert errors(text, elsewhere=True) == []
    assert [each.line for each in found(text, elsewhere=True) if each.code == "W902"] == [3, 6]


def test_keys_of_a_configmap_are_files_beside_it() -> None:
    beside = {"a.override": "errors\n", "b.override": "foo\n"}
    text = ". {\n import *.override\n whoami\n}\n"
    places = [
        (each.file.rpartition("/")[2], each.line) for each in found(text, beside=beside) if each.severity is ERROR
    ]
    assert places == [("b.override", 1)]


def test_name_servers_of_this_machine_and_of_another(tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.53\n")
    text = f". {{\n forward . {tmp_path}/resolv.conf\n}}\n"
    assert "W001" in {each.code for each in found(text)}
    assert "W001" not in {each.code for each in found(text, elsewhere=True)}
    assert "W001" not in {each.code for each in found(text, resolv_conf="nameserver 192.0.2.1\n")}
    assert "W001" in {each.code for each in found(text, elsewhere=True, resolv_conf="nameserver ::1\n")}


def test_modes_of_secret_files(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text('key "a." { algorithm hmac-sha256; secret "c2VjcmV0"; };\n')
    text = f". {{\n tsig {{\n  secrets {keys}\n }}\n whoami\n}}\n"
    keys.chmod(0o644)
    assert [(each.line, each.column) for each in found(text) if each.code == "W801"] == [(3, 11)]
    keys.chmod(0o640)
    assert "W801" not in {each.code for each in found(text)}


def test_variables_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ". {\n chaos {$WAYPOST_TEST_NAME}\n whoami\n}\n"
    assert [(each.line, each.column) for each in found(text) if each.code == "W308"] == [(2, 8)]
    assert "W308" not in {each.code for each in found(text, elsewhere=True)}
    monkeypatch.setenv("WAYPOST_TEST_NAME", "x")
    assert "W308" not in {each.code for each in found(text)}


def test_what_a_plugin_warns_of() -> None:
    (warned,) = (each for each in found(". {\n whoami\n  kubernetes a {\n ignore\n }\n}\n") if each.code == "W901")
    assert (warned.line, warned.column) == (3, 3)
    assert warned.found.startswith("plugin/kubernetes: 'ignore' without a value")


def test_errors_have_an_end() -> None:
    text = ". {\n" + "foo\n" * 1000 + "}\n"
    assert len(errors(text)) == 100
