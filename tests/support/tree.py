"""The project's own files: its root, modules, pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src"
PLUGIN_PAGES = ROOT / "docs/plugins"


def source_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(SOURCE.rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def pages() -> list[Path]:
    """Every page for people."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def code_blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a language: line number and text."""
    block: list[str] | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if block is None:
            if line.strip() == f"```{language}":
                block, start = [], number
        elif line.strip() == "```":
            yield start, "\n".join(block) + "\n"
            block = None
        else:
            block.append(line)
