"""bind: the directive and which addresses it comes to."""

from __future__ import annotations

import pytest

from support.chain import make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.bind import Config, Line, listen_addresses, parse, setup

INTERFACES = {
    "lo": ["127.0.0.1", "::1"],
    "eth0": ["192.0.2.2", "fe80::1%eth0"],
    "dummy0": [],
}


def bound(text: str) -> list[str]:
    return listen_addresses(parse(make_directive(text)), lambda: INTERFACES)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("bind 127.0.0.1", ["127.0.0.1"]),
        ("bind 127.0.0.2 ::1", ["127.0.0.2", "::1"]),
        ("bind 127.0.0.1\nbind 127.0.0.2", ["127.0.0.1", "127.0.0.2"]),
        ("bind FD00:0::1", ["fd00::1"]),
        ("bind lo eth0", ["127.0.0.1", "::1", "192.0.2.2", "fe80::1%eth0"]),
        ("bind lo eth0 {\n except ::1 eth0\n}", ["127.0.0.1"]),
        ("bind lo {\n except 0:0::1\n}", ["127.0.0.1"]),
        ("bind 127.0.0.1 {\n except 127.0.0.2\n}\nbind 127.0.0.2", ["127.0.0.1", "127.0.0.2"]),
        ("bind 127.0.0.1 127.0.0.1", ["127.0.0.1", "127.0.0.1"]),  # refused when zones are placed
        ("bind dummy0 127.0.0.1", ["127.0.0.1"]),
    ],
)
def test_addresses(text: str, addresses: list[str]) -> None:
    assert bound(text) == addresses


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("bind", "at least one address or interface name is expected"),
        ("bind 300.0.0.1", 'not a valid IP address or interface name: "300.0.0.1"'),
        ("bind nosuch0", 'not a valid IP address or interface name: "nosuch0"'),
        ("bind [::1]", 'not a valid IP address or interface name: "[::1]"'),
        ("bind 127.0.0.1:53", 'not a valid IP address or interface name: "127.0.0.1:53"'),
        ("bind 127.0.0.1 {\n except nosuch0\n}", 'not a valid IP address or interface name: "nosuch0"'),
        ("bind 127.0.0.1 {\n foo\n}", 'invalid option "foo"'),
        ("bind 127.0.0.1 {\n except\n}", "at least one address or interface must be given to except subdirective"),
        ("bind lo {\n except lo\n}", "every address is excepted, there is nothing to listen on"),
        ("bind dummy0", "every address is excepted, there is nothing to listen on"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        bound(text)
    assert str(caught.value) == error


def test_options() -> None:
    config = parse(make_directive("bind a b {\n except c\n except d\n}"))
    assert config == Config((Line(("a", "b"), ("c", "d")),))


def test_interfaces_of_this_machine() -> None:
    site = make_site()
    setup(make_directive("bind lo {\n except ::1\n}"), site)
    assert site.bind == ["127.0.0.1"]
