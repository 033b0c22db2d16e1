"""The search list of resolv.conf."""

from __future__ import annotations

import pytest

from waypost.toolkit.resolvconf import search_domains
from waypost.wire import names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("nameserver 10.0.0.1\nsearch a.example B.Example.\n", ("a.example.", "b.example.")),
        ("search one\nsearch two\n", ("two.",)),
        ("search one\ndomain two three\n", ("two.",)),
        ("domain\n", ()),
        ("search one\nsearch\n", ()),
        ("# search x\n;search x\n  search y\n\n", ("y.",)),
        ("search a..b " + "x" * 64 + " ok .", ("ok.", ".")),
    ],
)
def test_search_domains(text: str, expected: tuple[str, ...]) -> None:
    assert search_domains(text) == tuple(map(names.from_text, expected))
