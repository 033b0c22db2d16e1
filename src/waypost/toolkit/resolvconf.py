"""The search list in a file of the form of resolv.conf(5)."""

from __future__ import annotations

from waypost.wire import names
from waypost.wire.errors import BadName


def search_domains(text: str) -> tuple[bytes, ...]:
    """The domains of the last `search` or `domain` line, wire form and lower case; what is no name is left out."""
    found: list[str] = []
    for line in text.splitlines():
        keyword, *values = line.split() or [""]
        if keyword == "search":
            found = values
        elif keyword == "domain" and values:
            found = values[:1]
    return tuple(name for name in map(_wire_name, found) if name)


def _wire_name(text: str) -> bytes:
    try:
        return names.from_text(text.lower())
    except BadName:
        return b""
