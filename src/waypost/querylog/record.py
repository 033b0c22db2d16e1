"""One line of a query log as a value."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

NO_REPLY: Final = "-"
"""Stands in the place of an rcode: nothing was written."""

_ESCAPE: Final = re.compile(r"\\.")


class Query(NamedTuple):
    """A query and what came of it. Every text is printable ASCII, whatever the line held; empty if it is not known.

    `name` is in presentation form, in lower case, with the final dot, and a dot within a label is `\\046`; `rcode` a
    mnemonic, a number or NO_REPLY; `client` an address without brackets; `seconds` the time the server took; `time`
    Unix time of the line; `tag` source port and id, by which a query sent again is told from a new one.
    """

    name: str
    type: str = ""
    rcode: str = ""
    client: str = ""
    seconds: float | None = None
    time: float | None = None
    tag: str = ""


def plain_dots(name: str) -> str:
    r"""A name in presentation form, not empty, so that every dot ends a label: `a\.b` becomes `a\046b.`."""
    if "\\" in name:
        name = _ESCAPE.sub(lambda found: "\\046" if found[0] == "\\." else found[0], name)
    return name if name[-1] == "." else f"{name}."
