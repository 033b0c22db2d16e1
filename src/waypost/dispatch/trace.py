"""What plugins say of a query while it is explained: a trace is there for such queries only."""

from __future__ import annotations

from typing import Final, NamedTuple

NOTED: Final = "noted"
"""Something was done or found on the way."""
CHANGED: Final = "changed"
"""From here on another question is asked: the text says which, `FROM -> TO`."""
PASSED: Final = "passed"
"""The query was handed on, for a reason worth telling: the text goes on as "because"."""
ANSWERED: Final = "answered"
"""This made the answer."""

UNASKED: Final = "unasked"
"""Somebody else would have to be asked for the answer, and this is not to be: see `Trace.offline`."""


class Note(NamedTuple):
    """A decision of a plugin.

    `step` is one of the words above. `objects` are the data behind it (`Service shop/web`, `zone example.org.`, an
    upstream's address) and `version` says which state of them. `depth` counts the look-ups around it.
    """

    plugin: str
    text: str
    step: str = NOTED
    objects: tuple[str, ...] = ()
    version: str = ""
    depth: int = 0


class Trace:
    """The notes of one query in order. `offline` asks plugins not to send anything to anybody."""

    __slots__ = ("notes", "offline")

    def __init__(self, *, offline: bool = False) -> None:
        self.notes: list[Note] = []
        self.offline = offline
