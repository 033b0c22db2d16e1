"""`waypost version`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from waypost.control.banner import version_lines


def main(words: Sequence[str]) -> int:
    """Print name, version, platform and interpreter."""
    parser = argparse.ArgumentParser(
        prog="waypost version", description="Print name, version, platform and interpreter."
    )
    parser.parse_args(words)
    print("\n".join(version_lines()))
    return 0
