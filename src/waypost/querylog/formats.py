"""Formats of the `log` directive turned round: `{remote}:{port} {name} {rcode}` to a pattern that reads such lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

COMMON: Final = (
    '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" '
    "{rcode} {>rflags} {rsize} {duration}"
)
COMBINED: Final = COMMON + ' "{>opcode}"'

FIELDS: Final = ("name", "type", "rcode", "remote", "duration", "port", ">id")
"""The placeholders whose values a report needs."""

ADDRESS: Final = r"\[[0-9A-Fa-f:.]+(?:%[0-9A-Za-z_.-]+)?\]|[0-9A-Fa-f:.]+?"
# Printable ASCII, where a backslash takes the next character with it: the first plain quote ends the name. Servers
# escape blanks in names; some programs on the way of a log undo that.
NAME: Final = r"[ !#-\[\]-~]*(?:\\[ -~][ !#-\[\]-~]*)*"
_NUMBER: Final = "[0-9]+"
PATTERNS: Final = {
    "type": "[0-9A-Za-z-]+",
    "class": "[0-9A-Za-z]+",
    "name": NAME,
    "proto": "[a-z]+",
    "remote": ADDRESS,
    "local": ADDRESS,
    "port": _NUMBER,
    "size": _NUMBER,
    ">id": _NUMBER,
    ">opcode": _NUMBER,
    ">do": "true|false",
    ">bufsize": _NUMBER,
    "rcode": "[0-9A-Z]+|-",
    ">rflags": "[a-z,]*|-",
    "rsize": _NUMBER,
    "duration": "[0-9][0-9a-z\u00b5\u03bc.]*s",
}
"""Placeholder -> what it can be filled with. `{/plugin/label}` can be anything."""
_METADATA: Final = ".*?"
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


class FormatError(Exception):
    """A format with which lines cannot be read; the text is a line for the user."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A pattern for a whole line, to RE2 as well as to `re`; `groups`: which of its groups, from 0, hold FIELDS.

    The first group is always empty and stands for what the format leaves out.
    """

    pattern: str
    groups: tuple[int, ...]


def layout_of(text: str, ending: str = "") -> Layout:
    """The layout of lines in this format; `ending` is a pattern for what may follow. Raises FormatError."""
    text = text.replace("{common}", COMMON).replace("{combined}", COMBINED)
    pattern = "()"
    groups: dict[str, int] = {}
    end = before = 0
    for found in _PLACEHOLDER.finditer(text):
        field = found[1]
        value = _METADATA if field.startswith("/") else PATTERNS.get(field)
        if value is None:  # the server leaves it as it is
            continue
        if before and found.start() == before:
            raise FormatError(f"nothing tells where {found[0]} begins; separate it from what is before it")
        pattern += re.escape(text[end : found.start()])
        if field in FIELDS and field not in groups:
            groups[field] = len(groups) + 1
            pattern += f"({value})"
        else:
            pattern += f"(?:{value})"
        end = before = found.end()
    if "name" not in groups:
        raise FormatError("a format without {name} has nothing to report on")
    return Layout(f"{pattern}{re.escape(text[end:])}{ending}\\s*", tuple(groups.get(field, 0) for field in FIELDS))


DEFAULT: Final = layout_of(COMMON, '(?: "[0-9]+")?')
"""Lines of the formats `common` and `combined`."""
