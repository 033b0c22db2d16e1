"""What the `cache` directive accepts, and what it makes of it."""

from __future__ import annotations

import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.cache.config import Config, Limits, Prefetch, Stale, parse
from waypost.toolkit.zonelist import zones_of
from waypost.wire.names import ROOT


def options(*lines: str) -> Config:
    return parse(make_directive("cache {\n" + "\n".join(lines) + "\n}"))


def test_defaults() -> None:
    config = parse(make_directive("cache"))
    assert config == Config()
    assert config.success == Limits(ttl=3600, capacity=9984, min_ttl=5)
    assert config.denial == Limits(ttl=1800, capacity=9984, min_ttl=5)
    assert config.servfail == 5
    assert config.zones is None


@pytest.mark.parametrize(
    ("line", "ttl", "zones"),
    [
        ("cache 30", 30, None),
        ("cache 30 Example.ORG 10.0.0.0/8", 30, ("example.org.", "10.in-addr.arpa.")),
        ("cache example.org example.net", 3600, ("example.org.", "example.net.")),
        ("cache 30s", 3600, ("30s.",)),  # no number, so a zone
        ("cache a..b", 3600, ()),
        ("cache 99999999", 99999999, None),
        ("cache 9999999999999", 0x7FFFFFFF, None),  # a TTL has 31 bits
    ],
)
def test_arguments(line: str, ttl: int, zones: tuple[str, ...] | None) -> None:
    config = parse(make_directive(line))
    assert config.success.ttl == ttl
    assert config.zones == zones


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("success 5000", Limits(3600, 4864, 5)),
        ("success 10000 60", Limits(60, 9984, 5)),
        ("success 5000 60 0", Limits(60, 4864, 0)),
        ("success 5000 10 60", Limits(10, 4864, 60)),
        ("success 5000 60 5 6", Limits(60, 4864, 5)),
        ("success -5", Limits(3600, 1024, 5)),
        ("success 1", Limits(3600, 1024, 5)),
    ],
)
def test_limits(line: str, limits: Limits) -> None:
    assert options(line).success == limits
    assert options(line.replace("success", "denial")).denial.capacity == limits.capacity


@pytest.mark.parametrize(
    ("line", "stale"),
    [
        ("serve_stale", Stale(3600)),
        ("serve_stale 10m", Stale(600)),
        ("serve_stale 0s", None),
        ("serve_stale 1h immediate", Stale(3600)),
        ("serve_stale 1h Immediate 30s 5m", Stale(3600, ttl=30, recheck=300)),
        ("serve_stale 1h verify", Stale(3600, verify=True)),
        ("serve_stale 1h verify 100ms", Stale(3600, verify=True, timeout=0.1)),
        ("serve_stale 1h verify 1s 30s 10s", Stale(3600, verify=True, timeout=1, ttl=30, recheck=10)),
    ],
)
def test_serve_stale(line: str, stale: Stale | None) -> None:
    assert options(line).stale == stale


def test_the_other_options() -> None:
    config = options(
        "prefetch 1 2m 50%",
        "servfail 1500ms",
        "disable denial a.org",
        "disable success",
        "keepttl",
        "soa_minimum",
        "serve_stale_policy prefer_positive",
    )
    assert config.prefetch == Prefetch(1, 120, 50)
    assert config.servfail == 1.5
    assert config.no_denial == zones_of(("a.org",), ())
    assert config.no_success == zones_of((), (ROOT,))
    assert config.keep_ttl
    assert config.soa_minimum
    assert config.prefer_positive
    assert options("prefetch 0").prefetch is None


def test_keepttl_leaves_the_next_line_alone() -> None:
    config = options("keepttl", "prefetch 1")
    assert config.keep_ttl
    assert config.prefetch == Prefetch(1)


def test_equal_directives_give_equal_hashable_configurations() -> None:
    text = "cache 30 {\ndisable denial a.org\nserve_stale\n}"
    assert hash(parse(make_directive(text))) == hash(parse(make_directive(text)))


ARGUMENTS = "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '{}'"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("success", ARGUMENTS.format("success")),
        ("success 5000 0", "cache TTL can not be zero or negative: 0"),
        ("success 5000 60 -1", "cache min TTL can not be negative: -1"),
        ("denial", ARGUMENTS.format("denial")),
        ("denial x", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("prefetch", ARGUMENTS.format("prefetch")),
        ("prefetch -1", "prefetch amount should be positive: -1"),
        ("prefetch 10 1m 91%", "percentage should fall in range [10, 90]: 91"),
        ("prefetch 10 1m 50", "last character of percentage should be `%`, but is: '0'"),
        ("prefetch 10 1m 50% x", ARGUMENTS.format("x")),
        ("serve_stale x", 'time: invalid duration "x"'),
        ("serve_stale immediate", 'time: invalid duration "immediate"'),
        ("serve_stale -1h", "invalid negative duration for serve_stale"),
        ("serve_stale 1h foo", "invalid value for serve_stale refresh mode: foo"),
        ("serve_stale 1h verify x", 'time: invalid duration "x"'),
        ("serve_stale 1h verify 1s 1500ms", "the serve_stale response TTL must be whole seconds: 1500ms"),
        ("serve_stale 1h immediate 1s 6m", "a serve_stale recheck interval over 5 minutes is not permitted"),
        ("serve_stale 1h immediate 1s 1m 1s", ARGUMENTS.format("1s")),
        ("serve_stale_policy", ARGUMENTS.format("serve_stale_policy")),
        ("serve_stale_policy x", "invalid value for serve_stale_policy: x, expected prefer_positive"),
        ("servfail 10", 'time: missing unit in duration "10"'),
        ("servfail -1s", "invalid negative ttl for servfail"),
        ("servfail 6m", "caching SERVFAIL responses over 5 minutes is not permitted"),
        ("servfail 1s 2s", ARGUMENTS.format("2s")),
        ("disable", ARGUMENTS.format("disable")),
        ("disable all", 'cache type for disable must be "success" or "denial"'),
        ("keepttl 5", ARGUMENTS.format("5")),
        ("soa_minimum 5", ARGUMENTS.format("5")),
        ("foo", ARGUMENTS.format("foo")),
    ],
)
def test_errors(line: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        options(line)
    assert str(raised.value) == error


@pytest.mark.parametrize("ttl", [0, -5])
def test_a_ttl_must_be_positive(ttl: int) -> None:
    with pytest.raises(CorefileError, match=f"cache TTL can not be zero or negative: {ttl}"):
        parse(make_directive(f"cache {ttl}"))


def test_a_second_directive_is_refused() -> None:
    with pytest.raises(CorefileError, match="this plugin can only be used once per Server Block"):
        parse(make_directive("cache 30\ncache 40"))
