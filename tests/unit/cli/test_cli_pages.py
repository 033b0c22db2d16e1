"""The examples on the pages of `check` and `fmt` are what the commands print."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from support.tree import ROOT
from waypost.cli.main import main


def sessions(page: str) -> dict[str, str]:
    """What stands behind each `$ COMMAND` in the first indented block of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    block = text[text.index("    $ cat Corefile") :].split("\n\n- ")[0].split("\n\nThe ")[0]
    commands = [part.partition("\n") for part in textwrap.dedent(block + "\n").split("$ ")[1:]]
    return {command: output for command, _, output in commands}


@pytest.mark.parametrize("name", ["check", "fmt"])
def test_example(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = sessions(f"{name}.md")
    monkeypatch.chdir(tmp_path)
    Path("Corefile").write_text(shown["cat Corefile"])
    main([name, "Corefile"])
    assert capsys.readouterr().out.strip() == shown[f"waypost {name} Corefile"].strip()
