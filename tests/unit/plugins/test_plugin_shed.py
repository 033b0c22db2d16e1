"""The `shed` directive."""

from __future__ import annotations

import pytest

from support.chain import make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.shed import setup


def test_it_marks_the_block() -> None:
    site = make_site()
    setup(make_directive("shed"), site)
    assert site.sheds


@pytest.mark.parametrize(
    ("text", "labels", "error"),
    [
        ("shed 5", (".",), "Wrong argument count or unexpected line ending after '5'"),
        ("shed {\n depth 5\n}", (".",), "shed takes no options"),
        ("shed\nshed", (".",), "this plugin can only be used once per Server Block"),
        ("shed", ("tls://.:15300",),
         'only plain DNS server blocks are supported; "tls://.:15300" uses transport "tls"'),
        ("shed", (".", "quic://.:853"),
         'only plain DNS server blocks are supported; "quic://.:853" uses transport "quic"'),
    ],
)  # fmt: skip
def test_refused(text: str, labels: tuple[str, ...], error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        setup(make_directive(text), make_site(*labels))
    assert caught.value.text == error
