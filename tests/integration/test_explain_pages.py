"""The examples in docs/explain.md and docs/query.md are what the commands print, but for times and this machine."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from support.process import run
from support.tree import ROOT

VARYING = (
    (re.compile(r"\d+\.\d ms"), "0.0 ms"),
    (re.compile(r"serial \d+"), "serial 0"),
    (re.compile(r"upstreams [0-9a-f.:\[\] ]+$", re.MULTILINE), "upstreams 192.0.2.53:53"),
)


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Commands with the output that the page shows."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for block in re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE):
        lines = [line.removeprefix("    ") for line in block.strip("\n").split("\n")]
        if lines[0].startswith("$ "):
            yield lines[0].removeprefix("$ "), "\n".join(lines[1:])


@pytest.mark.parametrize(
    ("command", "expected"), [*examples("explain.md"), *examples("query.md")], ids=lambda text: text[:40]
)
def test_an_example_is_true(command: str, expected: str) -> None:
    done = run(*shlex.split(command)[1:])
    assert (done.returncode, done.stderr) == (0, "")
    assert masked(done.stdout.rstrip("\n")) == masked(expected)


def test_there_are_examples() -> None:
    assert len([*examples("explain.md")]) == 1
    assert len([*examples("query.md")]) == 2


def masked(text: str) -> str:
    for pattern, constant in VARYING:
        text = pattern.sub(constant, text)
    return text
