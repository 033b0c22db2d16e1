"""What resolv.conf says."""

from __future__ import annotations

import pytest

from waypost.toolkit.resolvconf import name_servers, ndots, search_domains
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


def test_name_servers() -> None:
    text = "# nameserver a\n;nameserver b\nnameserver 192.0.2.1\n nameserver\t::1 more\nnameserver\nnameservers x\n"
    assert name_servers(text) == ("192.0.2.1", "::1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 1),
        ("options ndots:5\n", 5),
        ("options timeout:2 ndots:3 rotate\noptions edns0 ndots:0\n", 0),
        ("options ndots:99\n", 15),
        ("options ndots:" + "9" * 5000, 15),
        ("options ndots:x ndots: ndots\n# options ndots:7\n", 1),
    ],
)
def test_ndots(text: str, expected: int) -> None:
    assert ndots(text) == expected
