"""The node's resolv.conf as the kubelet reads it, which is not how any libc does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_READ_LIMIT: Final = 10 * 1024 * 1024
# Go's unicode.IsSpace: unlike str.split() it knows nothing of the file separators U+001C to U+001F.
_BLANK: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_FIELD = re.compile(f"[^{_BLANK}]+")


class NodeFileError(Exception):
    """The file cannot be used, so no pod of the node starts. `reason` is the bare text, of the check at start."""

    def __init__(self, reason: str, *, parsing: bool = False) -> None:
        super().__init__(f"Encountered error while parsing resolv conf file. Error: {reason}" if parsing else reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class NodeFile:
    """What stands at the kubelet's resolvConf: the bytes, or why it cannot be opened (`no such file or directory`)."""

    content: bytes = b""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Lists:
    """The three lists of a resolv.conf; options as `name` or `name:value`."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def read_node_file(path: str, file: NodeFile) -> Lists:
    """The lists of the file at `path`; none for an empty path. Raises NodeFileError."""
    if not path:
        return Lists()
    if file.fault:
        raise NodeFileError(f"open {path}: {file.fault}")
    if len(file.content) >= _READ_LIMIT:
        raise NodeFileError("the read limit is reached", parsing=True)
    return parse(file.content.decode("utf-8", "surrogateescape"))


def parse(text: str) -> Lists:
    """nameserver lines add up, the last search line counts, options merge by name. `domain` is ignored.

    Raises NodeFileError for a nameserver line without an address.
    """
    nameservers: list[str] = []
    searches: tuple[str, ...] = ()
    options: dict[str, str] = {}
    for line in text.split("\n"):
        keyword, *values = _FIELD.findall(line) or [""]
        if keyword == "nameserver":
            if not values:
                raise NodeFileError("nameserver list is empty ", parsing=True)
            nameservers.append(values[0])
        elif keyword == "search":
            searches = tuple(value.removesuffix(".") for value in values if value != ".")
        elif keyword == "options":
            options |= {option_name(value): value for value in values}
    return Lists(tuple(nameservers), searches, tuple(options.values()))


def option_name(option: str) -> str:
    """What stands before the first colon."""
    return option.partition(":")[0]
