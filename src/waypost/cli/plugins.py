"""`waypost plugins`: the directives in their fixed order, and which of them this version has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec

from waypost.plugins.order import ORDER


def names() -> list[str]:
    """The directives that this version has, sorted, `on` last as CoreDNS prints them."""
    present = sorted(name for name in ORDER if is_present(name))
    return [f"dns.{name}" for name in present if name != "on"] + [f"dns.{name}" for name in present if name == "on"]


def is_present(name: str) -> bool:
    """True if this version has the directive."""
    return find_spec(f"waypost.plugins.{name}") is not None


def main(words: Sequence[str]) -> int:
    """Print the order."""
    parser = argparse.ArgumentParser(prog="waypost plugins", description="List the directives in their fixed order.")
    parser.parse_args(words)
    for name in ORDER:
        print(f"{name:<14}{'' if is_present(name) else 'not included yet'}".rstrip())
    return 0
