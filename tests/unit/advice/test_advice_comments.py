"""Silencing advice by comments, and the page that lists the codes."""

from __future__ import annotations

import pytest

from support.advising import codes, findings
from support.tree import ROOT
from waypost.advice.comments import ignores
from waypost.advice.rules import RULES, page_table

LOGGED = ". {{\n    {above}\n    log{behind}\n    whoami\n}}\n"


@pytest.mark.parametrize(
    ("above", "behind", "silent"),
    [
        ("", "", False),
        ("# waypost: ignore W508", "", True),
        ("", " # waypost: ignore W508", True),
        ("#waypost:ignore W508", "", True),
        ("# waypost: ignore W101, W508 while we look for something", "", True),
        ("# waypost: ignore W508\n    # another comment\n", "", True),
        ("# waypost: ignore W508\n    errors", "", False),
        ("errors # waypost: ignore W508", "", False),
        ("# waypost: ignore W509", "", False),
        ("# waypost: ignore", "", False),
        ("# please ignore W508", "", False),
    ],
)
def test_a_comment_silences(above: str, behind: str, silent: bool) -> None:
    assert ("W508" not in codes(LOGGED.format(above=above, behind=behind))) is silent


def test_a_comment_above_a_directive_is_for_its_options_too() -> None:
    text = ". {\n# waypost: ignore W402\ncache {\n prefetch 0\n}\nforward . 192.0.2.1 {\n tls_servername a\n}\n}\n"
    assert [found.line for found in findings(text) if found.code == "W402"] == [7]


def test_a_comment_in_an_imported_file_is_for_that_file() -> None:
    files = {"/conf/a": "log # waypost: ignore W508\n", "/conf/b": "log x\n"}
    found = findings(". {\nimport a\nimport b\nwhoami\n}\n", files=files)
    assert [(each.file, each.line) for each in found if each.code == "W508"] == [("/conf/b", 1)]


def test_a_comment_behind_a_word_of_several_lines() -> None:
    assert list(ignores('a "x\ny" # waypost: ignore W1\nb')) == [(2, 2, "W1")]


def test_a_code_that_does_not_exist_is_found_where_the_comment_stands() -> None:
    (found,) = (each for each in findings("# waypost: ignore W999\n. {\nwhoami\n}\n") if each.code == "W903")
    assert (found.line, found.found) == (1, "there is no advice W999 to ignore")


def test_codes_are_unique_and_in_order() -> None:
    listed = [rule.code for rule in RULES]
    assert listed == sorted(set(listed))


def test_the_page_lists_every_code() -> None:
    page = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    assert page_table() in page


def test_rules_are_sentences() -> None:
    for rule in RULES:
        assert rule.why.endswith(".")
        assert rule.remedy.endswith((".", "`"))
        assert not rule.title.endswith(".")
