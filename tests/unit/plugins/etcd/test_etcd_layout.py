from __future__ import annotations

import json

import pytest

from waypost.plugins.etcd.layout import BadEntry, Layout, Service, cut, grouped, matches, srv_weights
from waypost.wire import names

LAYOUT = Layout("/skydns")


def service(key: str = "/skydns/local/skydns/x", **fields: object) -> Service:
    return LAYOUT.service(key.encode(), json.dumps(fields).encode())


@pytest.mark.parametrize(
    ("path", "name", "key"),
    [
        ("/skydns", "x.staging.skydns.local.", b"/skydns/local/skydns/staging/x"),
        ("skydns", "local.", b"/skydns/local"),
        ("/a/b/", "local.", b"/a/b/local"),
        ("/", "local.", b"/local"),
        ("", "local.", b"/local"),
        ("/skydns", ".", b"/skydns"),
        ("/skydns", "_http._tcp.local.", b"/skydns/local/_tcp/_http"),
        ("/skydns", "a\\032b.local.", b"/skydns/local/a\\ b"),
        ("/skydns", "a/b.local.", None),
        ("/skydns", "\\.\\..local.", b"/skydns/local/\\.\\."),
    ],
)
def test_key(path: str, name: str, key: bytes | None) -> None:
    assert Layout(path).key(names.from_text(name)) == key


def test_the_key_gives_the_name_back() -> None:
    assert names.to_text(service("/skydns/local/skydns/staging/x", host="192.0.2.1").name) == "x.staging.skydns.local."
    assert names.to_text(service("/skydns/local/skydns/", host="192.0.2.1").name) == "skydns.local."
    deep = Layout("/a/b").service(b"/a/b/local/x", b'{"host": "192.0.2.1"}')
    assert names.to_text(deep.name) == "x.local."


def test_values() -> None:
    found = service(host="2001:db8::1", port=80, priority=5, weight=7, mail=True, ttl=9, group="g", targetstrip=1)
    assert found.address == bytes.fromhex("20010db8") + bytes(11) + b"\1"
    assert (found.port, found.priority, found.weight, found.mail, found.ttl, found.group) == (80, 5, 7, True, 9, "g")
    assert names.to_text(found.host) == "skydns.local."
    assert not found.target
    assert service(host="::ffff:192.0.2.1").address == b"\xc0\0\2\1"


def test_defaults() -> None:
    found = service(host="a.example.org")
    assert (found.port, found.priority, found.weight, found.ttl, found.group) == (0, 10, 0, 0, "")
    assert names.to_text(found.host) == "a.example.org."
    assert found.is_alias


def test_what_old_writers_wrote() -> None:
    """Numbers as text, names of fields in another letter case, fields that nobody knows, null."""
    found = service(Host="192.0.2.1", TTL="60", port="80", text=None, future={"a": 1})
    assert (found.address, found.ttl, found.port, found.text) == (b"\xc0\0\2\1", 60, 80, "")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"", "Input data was truncated"),
        (b"192.0.2.1", "JSON is malformed"),
        (b"[]", "expected a JSON object"),
        (b'{"host": 5}', "Expected `str`, got `int`"),
        (b'{"port": 65536}', "Expected `int` <= 65535"),
        (b'{"ttl": -1}', "Expected `int` >= 0"),
        (b'{"host": "a..b"}', "empty label"),
        (b'{"host": "\xff"}', "Invalid UTF-8"),
        (b'{"text": "' + b"x" * 65001 + b'"}', "text is longer than 65000 bytes"),
    ],
)
def test_what_is_no_service(value: bytes, fault: str) -> None:
    with pytest.raises(BadEntry, match=fault) as raised:
        LAYOUT.service(b"/skydns/local/x", value)
    assert str(raised.value).startswith("/skydns/local/x: ")


def test_target_strip() -> None:
    def stripped(count: int) -> str:
        return names.to_text(service("/skydns/local/skydns/a/b", host="192.0.2.1", targetstrip=count).host)

    assert [stripped(count) for count in range(6)] == [
        "b.a.skydns.local.", "a.skydns.local.", "skydns.local.", "local.", "b.a.skydns.local.", "b.a.skydns.local.",
    ]  # fmt: skip
    assert names.to_text(service(host="x.y.example.org", targetstrip=2).host) == "example.org."


@pytest.mark.parametrize(
    ("key", "where"),
    [
        (b"/skydns/local/a", b"/skydns/local/a"),
        (b"/skydns/local/*/a", b"/skydns/local"),
        (b"/skydns/local/any", b"/skydns/local"),
        (b"/skydns/local/many/*/b/any", b"/skydns/local/many"),
    ],
)
def test_cut(key: bytes, where: bytes) -> None:
    assert cut(key) == where


@pytest.mark.parametrize(
    ("pattern", "key", "found"),
    [
        (b"/s/local/*/a", b"/s/local/x/a", True),
        (b"/s/local/*/a", b"/s/local/x/a/deeper", True),
        (b"/s/local/any/a", b"/s/local/x/b", False),
        (b"/s/local/*/a", b"/s/local/x", False),
        (b"/s/local/*", b"/s/local/x", True),
    ],
)
def test_matches(pattern: bytes, key: bytes, found: bool) -> None:
    assert matches(key, pattern) is found


@pytest.mark.parametrize(
    ("groups", "kept"),
    [
        ({"a": "g1", "b": "g2"}, "ab"),
        ({"a": "g1", "b": "g1", "b/c": "g2", "b/d": "", "b/e": "g1"}, ["a", "b", "b/d", "b/e"]),
        ({"a": "", "b/c": "g1", "b/d": "g2"}, ["a", "b/c", "b/d"]),
        ({"a": "g1", "b": "", "b/c": "g2"}, "ab"),
        ({}, ""),
    ],
)
def test_groups(groups: dict[str, str], kept: str) -> None:
    services = [service(f"/skydns/local/{key}", host="192.0.2.1", group=group) for key, group in groups.items()]
    assert [found.key.removeprefix(b"/skydns/local/").decode() for found in grouped(services)] == list(kept)


def test_weights() -> None:
    def weights(*given: tuple[int, int]) -> list[int]:
        return srv_weights([service(host="a.b", priority=priority, weight=weight) for priority, weight in given])

    assert weights((0, 0)) == [100]
    assert weights((0, 0), (0, 0), (0, 0)) == [33, 33, 33]
    assert weights((10, 10), (10, 20), (5, 0)) == [33, 66, 100]
    assert weights((10, 1), (10, 65535)) == [1, 99]
