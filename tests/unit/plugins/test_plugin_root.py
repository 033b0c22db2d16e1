"""root: the last path counts, and a missing one is pointed out."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chain import FakeProcess, make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.root import parse, setup


@pytest.mark.parametrize(("text", "word"), [("root", "root"), ("root a b", "b")])
def test_refused(text: str, word: str) -> None:
    with pytest.raises(CorefileError, match=f"Wrong argument count or unexpected line ending after '{word}'"):
        parse(make_directive(text))


def test_relative_names_start_there(tmp_path: Path) -> None:
    process = FakeProcess()
    site = make_site(process=process)
    setup(make_directive(f"root /nope\nroot {tmp_path}"), site)
    assert site.path("db") == f"{tmp_path}/db"
    assert process.lines == []


def test_a_missing_path_is_pointed_out() -> None:
    process = FakeProcess()
    site = make_site(process=process)
    site.log = site.log.for_plugin("root")
    setup(make_directive("root /nope"), site)
    assert site.root == "/nope"
    assert process.lines == ["[WARNING] plugin/root: Root path does not exist: /nope"]
