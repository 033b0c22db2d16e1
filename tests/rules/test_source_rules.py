"""Rules for the text of the sources: described, small, and not tied to one machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from support.tree import ROOT, SOURCE, pages, source_files

MODULE_LINES = 400
FUNCTION_LINES = 60
SUPPORT = sorted((ROOT / "tests/support").rglob("*.py"))
OTHER = [ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "bench").glob("*.py"), *(ROOT / "requirements").glob("*")]
PRIVATE_PATH = re.compile(r"(?<![\w.])/(?:work|tmp)\b")


@pytest.mark.parametrize("path", [*source_files(), *SUPPORT], ids=lambda path: str(path.relative_to(ROOT)))
def test_module_is_described_and_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module says what it is for"
    assert text.count("\n") <= MODULE_LINES
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert {name: size for name, size in sizes.items() if size > FUNCTION_LINES} == {}


def test_no_path_of_one_machine() -> None:
    files = [path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*files, *pages(), *OTHER]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PRIVATE_PATH.search(line)
    ]
    assert found == [], "\n".join(found)
