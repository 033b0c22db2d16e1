"""`waypost version`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

_EPILOG = """\
examples:
  waypost version
"""


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    return argparse.ArgumentParser(
        prog="waypost version",
        description="Print name, version, platform and interpreter.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def main(words: Sequence[str]) -> int:
    """Print name, version, platform and interpreter."""
    make_parser().parse_args(words)
    from waypost.control.banner import version_lines

    print("\n".join(version_lines()))
    return 0
