"""Which directives a Corefile uses, and which of CoreDNS's this version has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec

from support.corefiles import DictReader
from waypost.corefile.errors import CorefileError
from waypost.corefile.parser import parse
from waypost.plugins.order import ORDER


@cache
def is_supported(directive: str) -> bool:
    """Whether there is a plugin of this name."""
    return find_spec(f"waypost.plugins.{directive}") is not None


def unsupported() -> set[str]:
    """The directives of CoreDNS's order without a plugin."""
    return {directive for directive in ORDER if not is_supported(directive)}


def used(corefile: str, files: Mapping[str, str], env: Mapping[str, str]) -> set[str]:
    """The directives of a Corefile without placeholders; none if it does not parse. Files by relative name."""
    reader = DictReader()
    reader.files = {reader.absolute(name, ""): text for name, text in files.items()}
    try:
        parsed = parse(corefile, "Corefile", env=env, known=ORDER, read=reader)
    except CorefileError:
        return set()
    return {directive.name for block in parsed.blocks for directive in block.directives}
