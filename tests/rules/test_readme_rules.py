"""The README says what there is: its list of directives is the list of plugins."""

from __future__ import annotations

import re

from support.tree import ROOT
from waypost.cli.plugins import is_present
from waypost.plugins.order import ORDER

HERE = re.compile(r"^Directives that work: (.+?)\.$", re.MULTILINE | re.DOTALL)
NOT_YET = re.compile(r"^Not included: (.+?)\.$", re.MULTILINE | re.DOTALL)


def names(pattern: re.Pattern[str]) -> list[str]:
    found = pattern.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return re.findall(r"[a-z0-9_]+", found[1])


def test_directives_that_work() -> None:
    assert names(HERE) == sorted(name for name in ORDER if is_present(name))


def test_directives_that_do_not() -> None:
    assert names(NOT_YET) == sorted(name for name in ORDER if not is_present(name))
