"""Every relative link on a page leads to a file that is there, and to a heading of it if it names one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.tree import ROOT, pages

LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^ {4}[^\n]*$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PAGES = [*pages(), *sorted((ROOT / "bench").glob("*.md"))]
INDEX = ROOT / "docs/README.md"
UNLISTED = re.compile(r"docs/(decisions|plugins)/")
"""What the index names as folders."""


@cache
def anchors(page: Path) -> frozenset[str]:
    """What GitHub calls a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return frozenset(
        re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in HEADING.findall(text)
    )


def links(page: Path) -> list[str]:
    """Targets of the links in the text, without those to other places of the web."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [target for target in LINK.findall(text) if not urlsplit(target).scheme]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            lost.append(target)
    assert lost == []


def test_links_are_found() -> None:
    assert len({target for page in PAGES for target in links(page)}) > 50


def test_the_index_names_every_page() -> None:
    named = {(INDEX.parent / target.partition("#")[0]).resolve() for target in links(INDEX)}
    expected = {page for page in pages() if page.is_relative_to(INDEX.parent) and page != INDEX}
    lost = [str(page.relative_to(ROOT)) for page in expected - named if not UNLISTED.match(str(page.relative_to(ROOT)))]
    assert lost == []
    assert {INDEX.parent / "plugins", INDEX.parent / "decisions"} <= named
