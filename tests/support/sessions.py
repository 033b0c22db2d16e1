"""Sessions of a shell on pages: commands behind `$ `, each with what it prints, in an indented or `console` block.

All sessions of a page go on in one folder. `$ cat FILE` of a file that is not there makes it, with what the page shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.tree import ROOT, code_blocks

_INDENTED = re.compile(r"(?:^ {4}.*\n(?:\n+(?= {4}))?)+", re.MULTILINE)
_ELSEWHERE = re.compile(r"\b(?:kubectl|dig|kdig|curl|serve|pip)\b|--(?:kubeconfig|admin|server)\b|^for ")
"""Needs a cluster, a server that runs, or a network."""
_VARYING = (
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|s)\b"), "0 s"),
    (re.compile(r"\bserial \d+"), "serial 0"),
    (re.compile(r"(?<![\w.:])\d+\.\d+\.\d+(?![\w.:])"), "0.0.0"),
    (re.compile(r"upstreams [0-9a-f.:\[\] ]+$", re.MULTILINE), "upstreams 192.0.2.53:53"),
)


class Step(NamedTuple):
    """A command and the output that the page shows; empty if it shows none."""

    page: Path
    command: str
    shown: str

    @property
    def runs_here(self) -> bool:
        """Whether it needs no more than this machine."""
        return self.command.startswith("waypost ") and not _ELSEWHERE.search(self.command)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.command}"


def sessions(page: Path) -> list[Step]:
    """Every step, in the page's order."""
    text = page.read_text(encoding="utf-8")
    fenced = {text.index(block): block for _, block in code_blocks(page, "console")}
    outside = re.sub(
        r"^```.*?^```$", lambda match: re.sub(r"[^\n]", "\0", match[0]), text, flags=re.DOTALL | re.MULTILINE
    )
    indented = {
        match.start(): re.sub(r"^ {4}", "", match[0], flags=re.MULTILINE) for match in _INDENTED.finditer(outside)
    }
    blocks = [block for _, block in sorted((fenced | indented).items()) if block.startswith("$ ")]
    return [step for block in blocks for step in _steps(page, block)]


def run_step(step: Step, folder: Path) -> str:
    """Do what it says in a folder; gives a complaint, or nothing if the output is what the page shows."""
    if step.command.startswith("cat ") and not (path := folder / step.command.removeprefix("cat ")).exists():
        path.write_text(step.shown + "\n", encoding="utf-8")
    if not step.runs_here:
        return ""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", step.command],
        cwd=folder,
        env=os.environ | {"PATH": tools, "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=30,
        check=False,
    )
    printed = done.stdout.rstrip("\n")
    if done.returncode == 2 or "Traceback" in printed:
        return f"{step}\ndoes not run: {printed[-500:]}"
    if step.shown and not _pattern(step.shown).fullmatch(masked(printed)):
        return f"{step}\nprints\n{printed}\nwhere the page shows\n{step.shown}"
    return ""


def masked(text: str) -> str:
    """Without what differs from run to run and from version to version."""
    for pattern, constant in _VARYING:
        text = pattern.sub(constant, text)
    return text


def _steps(page: Path, block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.rstrip("\n").split("\n")
        size = 1
        while size < len(lines) and (lines[size - 1].endswith("\\") or lines[size].startswith("> ")):
            size += 1
        command = "\n".join(line.removeprefix("> ") for line in lines[:size])
        yield Step(page, command, "\n".join(lines[size:]).rstrip("\n"))


def _pattern(shown: str) -> re.Pattern[str]:
    """`...` stands for anything, on a line of its own for any lines."""
    text = re.escape(masked(shown))
    text = re.sub(r"^\\\.\\\.\\\.$", r"(?s:.*)", text, flags=re.MULTILINE)
    return re.compile(text.replace(r"\.\.\.", ".*"))
