"""What `waypost fmt` prints and writes."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from waypost.cli.fmt import main

Capture = pytest.CaptureFixture[str]
ROUGH = "a.org\n{\n\twhoami\n\terrors\n}"
FORMATTED = "a.org {\n    whoami\n    errors\n}\n"
SORTED = "a.org {\n    errors\n    whoami\n}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rough").write_text(ROUGH)
    (tmp_path / "fine").write_text(FORMATTED)
    return tmp_path


def test_prints(capsys: Capture) -> None:
    assert main(["rough", "fine"]) == 0
    assert capsys.readouterr() == (FORMATTED * 2, "")
    assert main(["--sort", "rough"]) == 0
    assert capsys.readouterr().out == SORTED
    assert Path("rough").read_text() == ROUGH


@pytest.mark.parametrize("words", [[], ["-"]])
def test_standard_input(words: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(ROUGH.encode())))
    assert main(words) == 0
    assert capsys.readouterr().out == FORMATTED


def test_writes(folder: Path, capsys: Capture) -> None:
    Path("rough").chmod(0o640)
    Path("link").symlink_to("rough")
    before = Path("fine").stat().st_ino
    assert main(["-w", "link", "fine"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("link").is_symlink()
    assert Path("rough").read_text() == FORMATTED
    assert Path("rough").stat().st_mode & 0o777 == 0o640
    assert Path("fine").stat().st_ino == before
    assert sorted(path.name for path in folder.iterdir()) == ["fine", "link", "rough"]


def test_check_and_diff(capsys: Capture) -> None:
    assert main(["--check", "fine"]) == 0
    assert main(["--check", "fine", "rough"]) == 1
    assert capsys.readouterr().out == "rough\n"
    assert main(["--diff", "rough"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["--- rough", "+++ rough (formatted)"]
    assert "+a.org {" in shown
    assert "\\ No newline at end of file" in shown
    assert main(["--check", "--diff", "rough"]) == 1


def test_bytes_that_are_no_text_are_kept(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("bytes").write_bytes(b"a{\xff {\n}\n # \xfe\n")
    assert main(["bytes"]) == 0
    assert capfdbinary.readouterr().out == b"a{\xff {\n}\n\n# \xfe\n"


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("open", "a {\n  b {\n", "open:2:5: the brace that opens here is never closed\n"),
        ("nowhere", None, "nowhere: No such file or directory\n"),
        (".", None, ".: Is a directory\n"),
        ("a\0b", None, "a\0b: embedded null byte\n"),
    ],
)
def test_what_cannot_be_formatted(name: str, text: str | None, error: str, capsys: Capture) -> None:
    if text is not None:
        Path(name).write_text(text)
    assert main([name, "rough"]) == 1
    assert capsys.readouterr() == (FORMATTED, error)


@pytest.mark.parametrize("words", [["-w"], ["-w", "-"], ["-w", "--check", "rough"], ["-w", "--diff", "rough"]])
def test_bad_words(words: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "-w writes files" in capsys.readouterr().err
