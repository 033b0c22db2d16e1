"""The completion scripts, run by the shells they are for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.process import run
from waypost.cli.main import COMMANDS

BASH = """\
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_waypost
(( ${#COMPREPLY[@]} )) && printf '%s\\n' "${COMPREPLY[@]}"
exit 0
"""


def shell(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script of each shell, and two files to complete."""
    folder = tmp_path_factory.mktemp("completion")
    for name in ("bash", "zsh", "fish"):
        done = run("completion", name)
        assert (done.returncode, done.stderr) == (0, "")
        (folder / name).write_text(done.stdout)
    (folder / "files").mkdir()
    for name in ("Corefile", "a file.conf"):
        (folder / "files" / name).touch()
    return folder


def bash(scripts: Path, *words: str) -> list[str]:
    command = [shell("bash"), "--norc", "-c", BASH, "bash", str(scripts / "bash"), "waypost", *words]
    done = subprocess.run(command, cwd=scripts / "files", capture_output=True, text=True, timeout=20)
    assert done.stderr == ""
    return sorted(done.stdout.splitlines())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["chec"], ["check"]),
        (["dns"], ["dns-ip"]),
        (["-pid"], ["-pidfile"]),
        (["-conf", "Co"], ["Corefile"]),
        (["check", "--st"], ["--strict"]),
        (["check", "-o", ""], ["github", "json", "text"]),
        (["check", "--output", "=", "j"], ["json"]),
        (["check", "--output", "="], ["github", "json", "text"]),
        (["check", ""], ["Corefile", "a file.conf"]),
        (["check", "a "], ["a file.conf"]),
        (["check", "--port", ""], []),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["cache", "fl"], ["flush"]),
        (["cascade", "x", "--resolver", "m"], ["musl"]),
        (["autoscale", "pl"], ["plan"]),
        (["autoscale", "plan", "--par"], ["--params"]),
        (["unheard-of", ""], []),
    ],
    ids=" ".join,
)
def test_bash(scripts: Path, words: list[str], offered: list[str]) -> None:
    assert bash(scripts, *words) == offered


def test_bash_offers_every_command_and_its_help(scripts: Path) -> None:
    assert set(COMMANDS) <= set(bash(scripts, ""))
    assert [name for name in COMMANDS if "--help" not in bash(scripts, name, "--he")] == []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("waypost chec", ["check"]),
        ("waypost check --st", ["--strict"]),
        ("waypost check -o ", ["github", "json", "text"]),
        ("waypost check Core", ["Corefile"]),
        ("waypost autoscale pl", ["plan"]),
        ("waypost autoscale plan --par", ["--params"]),
        ("waypost -con", ["-conf"]),
    ],
)
def test_fish(scripts: Path, line: str, offered: list[str]) -> None:
    command = [shell("fish"), "--no-config", "-c", f"source {scripts}/fish; complete -C '{line}'"]
    done = subprocess.run(command, cwd=scripts / "files", capture_output=True, text=True, timeout=20)
    assert done.stderr == ""
    assert sorted(each.split("\t")[0] for each in done.stdout.splitlines()) == offered


def test_zsh_takes_the_script(scripts: Path) -> None:
    """Loaded into a shell with the completion system it defines the function and binds it to the command."""
    code = f"autoload -Uz compinit && compinit -D && source {scripts}/zsh && print $_comps[waypost] && which _arguments"
    done = subprocess.run([shell("zsh"), "-f", "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.stdout.splitlines()[0], done.stderr) == ("_waypost", "")
