"""Generated files into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(folder: str, files: Mapping[str, str]) -> None:
    """Write each text under its path; other files of the folder stay. Raises OSError."""
    for path, text in files.items():
        target = Path(folder, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
