"""`waypost version`."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.control.banner import version_lines


def main(words: Sequence[str]) -> int:
    """Print name, version, platform and interpreter."""
    print("\n".join(version_lines()))
    return 0
