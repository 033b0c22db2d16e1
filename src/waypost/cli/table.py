"""Tables: with rules and colours on a terminal, plain columns for everything else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

_FIRST_WIDTH: Final = 24


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells under the columns' names in upper case; plain columns stand two spaces apart."""
    headings = [column.upper() for column in columns]
    if sys.stdout.isatty():
        _print_rich(headings, rows)
        return
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD  # a terminal is the only place that pays for it
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        if number == 0:  # a long first cell may take several lines
            table.add_column(heading, overflow="fold", min_width=_FIRST_WIDTH)
        else:
            table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
