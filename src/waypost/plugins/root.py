"""root: the directory that relative file names in the block start from.

root PATH
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site


@dataclass(frozen=True, slots=True)
class Config:
    """`path` as written; the last one of several counts."""

    path: str = ""


def parse(directive: Directive) -> Config:
    """Raises CorefileError unless there is one argument."""
    cursor = Cursor(directive)
    path = ""
    for args in cursor.occurrences():
        if len(args) != 1:
            raise cursor.arg_err()
        path = args[0]
    return Config(path)


def setup(directive: Directive, site: Site) -> None:
    """Set the block's root; a directory that is not there may still come."""
    site.root = parse(directive).path
    if not os.path.exists(site.root):
        site.log.warning(f"Root path does not exist: {site.root}")
