"""Every command line for clusters that a page or a help text shows is one that the command takes."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from support.tree import ROOT
from waypost.addon.settings import Needs
from waypost.cli.pod_needs import read_needs
from waypost.corefile.stock import stock_corefile

PAGES = ("autoscale.md", "manifests.md", "migrate.md", "node-cache.md", "operate/migration.md")
MODULES = ("autoscale", "autoscale_plan", "dns_ip", "manifests", "migrate", "node_cache")
LINE = re.compile(
    r"(?:^|`|\| )\s*waypost (?P<words>(?:autoscale|dns-ip|manifests|migrate|node-cache)\b[^|`>\n]*)", re.MULTILINE
)


def shown() -> list[str]:
    """The words of each, without pipes."""
    texts = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES]
    texts += [import_module(f"waypost.cli.{name}").make_parser().epilog for name in MODULES]
    lines = [match["words"].strip() for text in texts for match in LINE.finditer(text.replace("\\\n", " "))]
    return sorted({line for line in lines if len(line.split()) > 2 or "dns-ip" in line})


@pytest.mark.parametrize("line", shown())
def test_it_is_taken(line: str) -> None:
    command, *words = shlex.split(line)
    module = command.replace("-", "_")
    if words[0] == "plan":
        module, words = f"{module}_plan", words[1:]
    import_module(f"waypost.cli.{module}").make_parser().parse_args(words)


def test_enough_is_shown() -> None:
    assert len(shown()) >= 15


def test_the_stock_corefile_needs_what_is_taken_for_granted(tmp_path: Path) -> None:
    assert read_needs(stock_corefile("cluster.local"), str(tmp_path / "Corefile")) == Needs()
