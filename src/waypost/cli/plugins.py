"""`waypost plugins`: the directives in their order, and where each plugin comes from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waypost.control.catalogue import Catalogue

_EPILOG = """\
examples:
  waypost plugins
  waypost plugins | grep added
"""


def names(catalogue: Catalogue) -> list[str]:
    """The directives that can be used, sorted, `on` last as CoreDNS prints them."""
    present = sorted(name for name in catalogue.order if name in catalogue.added or is_present(name))
    return [f"dns.{name}" for name in present if name != "on"] + [f"dns.{name}" for name in present if name == "on"]


def is_present(name: str) -> bool:
    """True if this version has the directive."""
    return find_spec(f"waypost.plugins.{name}") is not None


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    return argparse.ArgumentParser(
        prog="waypost plugins",
        description=(
            "List the directives in the order of setup and of the chain: built in, added by packages, not included."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def main(words: Sequence[str]) -> int:
    """Print the order."""
    make_parser().parse_args(words)
    from waypost.control.catalogue import NOT_INCLUDED, installed
    from waypost.corefile.errors import CorefileError

    try:
        catalogue = installed()
    except CorefileError as exc:
        print(exc, file=sys.stderr)
        return 1
    for name in catalogue.order:
        added = name in catalogue.added
        missing = "not included" if name in NOT_INCLUDED else "not included yet"
        print(f"{name:<14}{'added' if added else '' if is_present(name) else missing}".rstrip())
    return 0
