"""A Corefile through the steps of the history, comments and layout kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from waypost.corefile.errors import CorefileError
from waypost.corefile.format import format_corefile
from waypost.corefile.lexer import BYTE_ORDER_MARK
from waypost.migration.edits import Edits
from waypost.migration.history import Step
from waypost.migration.steps import Draft, Notice
from waypost.migration.structure import Untidy, read_blocks


class Migrated(NamedTuple):
    """The new text, and what was done to come there; lines are those of the old text."""

    text: str
    notices: list[Notice]


def migrate(text: str, file: str, steps: Sequence[Step]) -> Migrated:
    """Take the steps in order. Text that cannot be changed in place is brought into canonical form first.

    `file` is for messages. Raises CorefileError for text that is no Corefile at all.
    """
    notices: list[Notice] = []
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        read_blocks(text, file)
    except Untidy:
        text = format_corefile(text, file)
        notices.append(Notice(0, "brought into canonical form, as braces shared lines with other words"))
    try:
        origins = list(range(text.count("\n") + 2))
        for step in steps:
            draft = Draft(read_blocks(text, file), Edits.of(text))
            step.take(draft)
            notices += [notice._replace(line=origins[notice.line]) for notice in draft.notices]
            if not draft.edits.are_none:
                lines = draft.edits.apply()
                text = "\n".join(line for line, _ in lines)
                origins = [0, *(origins[number] for _, number in lines)]
    except Untidy as exc:
        raise CorefileError(
            file, exc.line, "a brace shares its line with other words; put it on a line of its own"
        ) from exc
    return Migrated(text, notices)
