"""Lines with colours on a terminal, and without for everything else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Line: TypeAlias = Sequence[tuple[str, str]]
"""Pieces of text, each with its style in rich's words (`bold`, `dim`, `red`; empty: none)."""


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines; a terminal's width folds none of them."""
    if not sys.stdout.isatty():
        for line in lines:
            print("".join(text for text, _ in line).rstrip())
        return
    from rich.console import Console  # a terminal is the only place that pays for it
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)


def rcode_style(rcode: str) -> str:
    """Green for an answer, yellow for a name that is not there, red for everything else."""
    return {"NOERROR": "green", "NXDOMAIN": "yellow", "not asked": "dim"}.get(rcode, "red")
