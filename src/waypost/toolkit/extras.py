"""Packages that come with an extra: asked for when a directive needs them, imported after that."""

from __future__ import annotations

from importlib.util import find_spec

from waypost.corefile.errors import CorefileError


def require(package: str, extra: str, purpose: str) -> None:
    """Raises CorefileError, which says what to install, unless the package is there; `purpose` begins the sentence."""
    if find_spec(package) is None:
        text = f"{purpose} needs the package {package}, which is not installed: pip install 'waypost[{extra}]'"
        raise CorefileError.unlocated(text)
