"""What `waypost check` prints, in each of its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from waypost.cli.check import main

Capture = pytest.CaptureFixture[str]
TEXT = ". {\n    whoami\n    debug\n    relaod\n}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(text: str, *words: str, name: str = "Corefile") -> int:
    Path(name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return main([*words, name])


def test_json(capsys: Capture) -> None:
    assert check(TEXT, "-o", "json") == 1
    value = json.loads(capsys.readouterr().out)
    assert (value["files"], value["errors"], value["warnings"], value["notices"]) == (["Corefile"], 1, 1, 0)
    error, advice = value["findings"]
    assert error == {
        "file": "Corefile", "line": 4, "column": 5, "severity": "error", "code": "", "why": "",
        "found": "Unknown directive 'relaod'", "remedy": "Did you mean `reload`?",
    }  # fmt: skip
    assert (advice["code"], advice["line"], advice["severity"]) == ("W509", 3, "warning")


def test_github_escapes(capsys: Capture) -> None:
    name = "a,b:c%.conf"
    assert check('. {\n    "100%\nx"\n}\n', "-o", "github", name=name) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "::error file=a%2Cb%3Ac%25.conf,line=2,col=5::Unknown directive '100%25%0Ax'"


def test_control_characters_are_escaped(capsys: Capture) -> None:
    check(". {\n    \x1b[31mred\n}\n")
    assert "Unknown directive '\\x1b[31mred'" in capsys.readouterr().out


def test_colours_only_on_a_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    check(TEXT)
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    check(TEXT)
    assert "Corefile:4:5: \x1b[31merror\x1b[0m: Unknown" in capsys.readouterr().out


def test_a_text_in_escapes_gives_the_line_in_it(capsys: Capture) -> None:
    check('kind: ConfigMap\ndata: {Corefile: ". {\\n whoami\\n foo\\n}\\n"}\n', name="cm.yaml")
    assert capsys.readouterr().out.startswith("cm.yaml:2:8: error: line 3: Unknown directive 'foo'\n")


def test_a_configmap_is_for_another_machine(capsys: Capture) -> None:
    text = "kind: ConfigMap\ndata:\n  Corefile: |\n    . {\n        whoami\n        tls /nowhere/a /nowhere/b\n    }\n"
    assert check(text, name="cm.yaml") == 0
    assert "cm.yaml:6:9: notice W902: " in capsys.readouterr().out
    assert check(". {\n    whoami\n    tls /nowhere/a /nowhere/b\n}\n") == 1
    assert check(". {\n    whoami\n    tls /nowhere/a /nowhere/b\n}\n", "--elsewhere") == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kind: Service\n", "cm.yaml:1: error: no ConfigMap with data.Corefile in it\n"),
        ("a: b: c\n", "cm.yaml:1: error: mapping values are not allowed in this context\n"),
    ],
)
def test_a_yaml_file_without_a_corefile(text: str, error: str, capsys: Capture) -> None:
    assert check(text, name="cm.yaml") == 1
    assert capsys.readouterr().out.startswith(error)


def test_the_resolv_conf_of_the_node(capsys: Capture) -> None:
    Path("node.conf").write_text("nameserver 127.0.0.53\n")
    check(". {\n    forward . /etc/resolv.conf\n}\n", "--elsewhere", "--resolv-conf", "node.conf")
    assert "W001: /etc/resolv.conf names the loopback address 127.0.0.53" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "the following arguments are required: FILE"),
        (["x", "--port", "x y"], "lookup tcp/x y: unknown port"),
        (["x", "--resolv-conf", "nowhere"], "open nowhere: no such file or directory"),
        (["x", "-o", "yaml"], "invalid choice: 'yaml'"),
    ],
)
def test_bad_words(words: list[str], error: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert error in capsys.readouterr().err
