"""The `pprof` directive."""

from __future__ import annotations

import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.pprof.setup import Config, parse


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("pprof", Config("localhost:6053", 0)),
        ("pprof :6060", Config(":6060", 0)),
        ("pprof [::1]:6060 {\n block\n}", Config("[::1]:6060", 1)),
        ("pprof {\n block 20000000\n}", Config("localhost:6053", 20_000_000)),
        ("pprof {\n block 0\n}", Config("localhost:6053", 0)),
        ("pprof {\n block -5\n}", Config("localhost:6053", -5)),
    ],
)
def test_options(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("pprof x", "address x: missing port in address"),
        ("pprof :x", "address x: invalid port"),
        ("pprof fd00::10:6053",
         "address fd00::10:6053: too many colons in address (an IPv6 address needs brackets: [fd00::10]:6053)"),
        ("pprof :1 :2", "Wrong argument count or unexpected line ending after ':2'"),
        ("pprof {\n block 1 2\n}", "Wrong argument count or unexpected line ending after '2'"),
        ("pprof {\n block x\n}", "property 'block' invalid integer value 'x'"),
        ("pprof {\n mutex\n}", "unknown property 'mutex'"),
        ("pprof\npprof", "this plugin can only be used once per Server Block"),
    ],
)  # fmt: skip
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error
