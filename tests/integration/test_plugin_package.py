"""The example plugin, installed as a package is: its files and its metadata on the path."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from support.process import ask, free_port, run, serving
from support.tree import ROOT

EXAMPLE = ROOT / "examples/plugin-greet"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path of new processes, with what `pip install` would put there."""
    site = tmp_path / "site"
    site.mkdir()
    shutil.copy(EXAMPLE / "greet.py", site)
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "\n".join(
        f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points + "\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    return site


def test_it_answers_and_hands_on(package: Path, tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path, f".:{port} {{\n bind 127.0.0.1\n greet\n whoami\n}}\n", port):
        assert "hello, 127.0.0.1" in ask(port, "Hello.example.", "TXT").answer[0].to_text()
        assert ask(port, "other.example.", "A").additional


def test_it_is_listed_in_its_place(package: Path) -> None:
    lines = [line.split() for line in run("plugins").stdout.splitlines()]
    assert lines[[line[0] for line in lines].index("template") + 1] == ["greet", "added"]


def test_without_the_package_it_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "Corefile").write_text(".:1053 {\n greet\n}\n")
    done = run("check", str(tmp_path / "Corefile"))
    assert (done.returncode, "Unknown directive 'greet'" in done.stdout) == (1, True)


def test_a_broken_package_is_said_and_nothing_starts(package: Path, tmp_path: Path) -> None:
    (package / "greet.py").write_text("import there_is_none\n")
    (tmp_path / "Corefile").write_text(".:1053 {\n whoami\n}\n")
    for words in (["check", str(tmp_path / "Corefile")], ["-conf", str(tmp_path / "Corefile")], ["plugins"]):
        done = run(*words)
        assert done.returncode == 1
        said = done.stdout + done.stderr  # what `check` finds is its output
        assert "plugin 'greet' of package waypost-greet cannot be used: ModuleNotFoundError" in said
        assert "Traceback" not in said


def test_the_example_is_ten_lines_of_code() -> None:
    code = (EXAMPLE / "greet.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in code if line.strip() and not line.startswith(('"""', "from", "import"))]) <= 10
