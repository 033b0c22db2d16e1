"""What every command has: a parser that can be asked, a help with examples, a quick start, no traceback."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from waypost.cli.main import COMMANDS, main
from waypost.cli.shells.words import describe

# Each takes longer to import than a whole `--help` may take.
SLOW = {"aiohttp", "asyncio", "dns", "msgspec", "prometheus_client", "rich", "ssl", "yaml", "http.client"}
ODD_FILES = {
    "empty": b"",
    "blank": b" \n\n\t",
    "zeros": bytes(300),
    "noise": bytes(range(256)) * 8,
    "surrogate": b"\xed\xa0\x80{\xff",
    "json": b'{"kind": "ConfigMap", "data": 7}',
    "deep": b"[" * 20_000,
    "yaml": b"kind: List\nitems: {a: [b]}\n---\n- &a [*a]\n",
    "quote": b'a "' + b"\\" * 999,
    "long": b"a" * 100_000,
}
ODD_WORDS = [
    "",
    "-",
    "--",
    "-1",
    "--output",
    "--output=",
    "\udcff",
    "a" * 5_000,
    "..",
    "[::1",
    "%s%n",
    "\x1b[31m",
    "0" * 400,
]
# They would run until a signal ends them, or ask a cluster.
RUNNING = {"serve", "autoscale", "doctor"}


def module(name: str) -> str:
    return f"waypost.cli.{name.replace('-', '_')}"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: waypost {name} ")
    assert re.search(rf"^examples:\n  .*waypost {name}\b", shown, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_can_be_described(name: str) -> None:
    """Completion knows a command by the parser that its module makes."""
    assert import_module(module(name)).make_parser().prog == f"waypost {name}"


def test_every_command_is_described() -> None:
    commands = describe(COMMANDS)
    assert [each.words[0] for each in commands if len(each.words) == 1] == list(COMMANDS)
    check = next(each for each in commands if each.words == ("check",))
    assert {"--strict", "-o", "--output", "--help"} <= set(check.names)
    output = next(flag for flag in check.flags if "-o" in flag.names)
    assert output.value is not None
    assert output.value.choices == ("text", "json", "github")
    assert check.arguments[0].files


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_slow_to_import_is_left_for_later(name: str) -> None:
    code = f"import sys; from {module(name)} import make_parser; make_parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert SLOW & set(done.stdout.split()) == set()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that nobody would write."""
    folder = tmp_path_factory.mktemp("odd")
    for name, data in ODD_FILES.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def quiet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In that folder, with nothing on standard input."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(), read=str, isatty=bool))


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in RUNNING])
def test_odd_words_and_files_give_no_traceback(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    parser = import_module(module(name)).make_parser()
    flags = [a.option_strings[-1] for a in parser._actions if a.option_strings and a.nargs != 0]
    for odd in (*ODD_WORDS, *ODD_FILES, "folder", "nowhere/at/all"):
        for words in ([odd], [odd, odd], *([flag, odd, odd] for flag in flags)):
            try:
                code = main([name, *words])
            except SystemExit as ended:
                code = ended.code
            assert code in (0, 1, 2), (name, words)
    assert "Traceback" not in capfd.readouterr().err
