"""Every directive has a plugin with a page, and every Corefile on a page can be used as it stands."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from support.directives import is_supported
from support.examples import Example, examples
from support.tree import PLUGIN_PAGES, ROOT
from waypost.control.catalogue import NOT_INCLUDED
from waypost.plugins.order import ORDER

DIRECTIVES = [name for name in ORDER if is_supported(name)]


@pytest.mark.parametrize("name", DIRECTIVES)
def test_plugin_has_setup(name: str) -> None:
    setup = importlib.import_module(f"waypost.plugins.{name}").setup
    assert list(inspect.signature(setup).parameters) == ["directive", "site"]


def test_modules_beside_the_plugins() -> None:
    folder = ROOT / "src/waypost/plugins"
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert modules - set(ORDER) == {"__init__", "order"}


@pytest.mark.parametrize("name", DIRECTIVES)
def test_plugin_has_a_page(name: str) -> None:
    page = PLUGIN_PAGES / f"{name}.md"
    assert page.exists()
    assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")
    assert any(name in example.directives for example in examples() if example.page == page), "no example of its use"


def test_no_page_without_a_plugin() -> None:
    assert [path.stem for path in PLUGIN_PAGES.glob("*.md") if path.stem not in (*DIRECTIVES, *NOT_INCLUDED)] == []


def test_a_page_says_what_to_use_instead_of_what_is_left_out() -> None:
    assert [name for name in NOT_INCLUDED if not (PLUGIN_PAGES / f"{name}.md").exists()] == []
    assert set(NOT_INCLUDED).isdisjoint(DIRECTIVES)


@pytest.mark.parametrize("example", examples(), ids=str)
def test_example_can_be_used(example: Example, tmp_path: Path) -> None:
    example.prepare(tmp_path)
