"""The words of a transfer directive, and which of its rules counts."""

from __future__ import annotations

import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.transfer.config import Config, parse
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.wire import addr, names

BLOCK = (names.from_text("example.org."),)


def config(text: str) -> Config:
    return parse(make_directive(text), BLOCK)


def test_everybody() -> None:
    (rule,) = config("transfer {\n to *\n}").rules
    assert rule.zones.zones == frozenset(BLOCK)
    assert rule.admits(addr.pack("192.0.2.1"))
    assert rule.targets == ()


def test_addresses() -> None:
    (rule,) = config("transfer {\n to 192.0.2.1 [2001:DB8::1]:5353\n to ::1\n source 192.0.2.9\n}").rules
    assert rule.targets == (
        UpstreamAddress("192.0.2.1", 53),
        UpstreamAddress("2001:DB8::1", 5353),
        UpstreamAddress("::1", 53),
    )
    assert rule.source == "192.0.2.9"
    for text in ("192.0.2.1", "2001:db8::1", "::1"):
        assert rule.admits(addr.pack(text))
    assert not rule.admits(addr.pack("192.0.2.2"))
    assert not rule.admits(None)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("transfer", "Corefile:2 - Error during parsing: 'to' is required"),
        ("transfer {\n source 192.0.2.1\n}", "Corefile:4 - Error during parsing: 'to' is required"),
        (
            "transfer {\n to\n}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'to'",
        ),
        ("transfer {\n foo\n}", 'Corefile:3 - Error during parsing: unknown property "foo"'),
        ("transfer {\n to dns.example.org\n}", "must specify an IP address: `dns.example.org'"),
        ("transfer {\n to 10.0.0.0/8\n}", "must specify an IP address: `10.0.0.0/8'"),
        ("transfer {\n to tls://192.0.2.1\n}", "must specify an IP address: `tls://192.0.2.1'"),
        ("transfer {\n to *\n source eth0\n}", "must specify an IP address: `eth0'"),
        (
            "transfer {\n to *\n source 192.0.2.1 192.0.2.2\n}",
            "Corefile:4 - Error during parsing: Wrong argument count or unexpected line ending after '192.0.2.2'",
        ),
    ],
)
def test_mistakes(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        config(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("example.org.", 0),
        ("z.example.org.", 0),
        ("a.example.org.", 1),
        ("b.a.example.org.", 1),
        ("zz.org.", 2),
        ("example.net.", None),
    ],
)
def test_the_longest_zone_counts(name: str, rule: int | None) -> None:
    rules = config(
        "transfer example.org {\n to *\n}\n"
        "transfer A.example.org {\n to 192.0.2.1\n}\n"
        "transfer zz.org example.org {\n to 192.0.2.2\n}"
    )
    assert rules.rule_for(names.from_text(name)) is (None if rule is None else rules.rules[rule])
