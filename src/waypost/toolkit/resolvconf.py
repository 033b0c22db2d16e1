"""What a file of the form of resolv.conf(5) says: name servers, search list, ndots."""

from __future__ import annotations

from waypost.wire import names
from waypost.wire.errors import BadName

_MAX_NDOTS = 15


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


def name_servers(text: str) -> tuple[str, ...]:
    """The arguments of the `nameserver` lines, as written."""
    lines = (line.split() for line in text.splitlines())
    return tuple(fields[1] for fields in lines if len(fields) > 1 and fields[0] == "nameserver")


def ndots(text: str) -> int:
    """How many dots make a name be asked for as it is first; 1 if the file does not say, 15 at most."""
    value = 1
    for line in text.splitlines():
        keyword, *options = line.split() or [""]
        for option in options if keyword == "options" else []:
            name, _, number = option.partition(":")
            if name == "ndots" and number.isascii() and number.isdigit():
                value = min(int(number[:3]), _MAX_NDOTS)
    return value


def _wire_name(text: str) -> bytes:
    try:
        return names.from_text(text.lower())
    except BadName:
        return b""
