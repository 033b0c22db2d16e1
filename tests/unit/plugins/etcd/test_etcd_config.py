from __future__ import annotations

from pathlib import Path

import pytest

from support.chain import FakeProcess, make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.etcd import parse, setup
from waypost.plugins.etcd.config import Config
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import names

WHOLE = """
etcd skydns.local 10.0.0.0/24 {
    path /dns
    endpoint http://a:2379 https://b
    credentials user secret
    tls cert key ca
    min-lease-ttl 60
    max-lease-ttl 2h30m
    fallthrough in-addr.arpa
}
"""


def test_defaults() -> None:
    assert parse(make_directive("etcd")) == Config((), "/skydns", ("http://localhost:2379",))


def test_everything() -> None:
    assert parse(make_directive(WHOLE)) == Config(
        ("skydns.local", "10.0.0.0/24"),
        "/dns",
        ("http://a:2379", "https://b"),
        ("user", "secret"),
        ("cert", "key", "ca"),
        60,
        9000,
        ZoneList(frozenset((names.from_text("in-addr.arpa"),))),
    )


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("30", 30), ("90s", 90), ("1.5s", 1), ("4294967295", 4294967295), ('""', 0)]
)
def test_seconds(text: str, seconds: int) -> None:
    assert parse(make_directive(f"etcd {{\nmin-lease-ttl {text}\n}}")).min_lease_ttl == seconds


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("foo", "unknown property 'foo'"),
        ("path", "Wrong argument count or unexpected line ending after 'path'"),
        ("path a b", "unknown property 'b'"),
        ("endpoint", "Wrong argument count or unexpected line ending after 'endpoint'"),
        ("credentials", "Wrong argument count or unexpected line ending after 'credentials'"),
        ("credentials user", "credentials requires 2 arguments, username and password"),
        ("tls a b c d", "maximum of three arguments allowed for TLS config, found 4"),
        ("min-lease-ttl", "Wrong argument count or unexpected line ending after 'min-lease-ttl'"),
        (
            "min-lease-ttl soon",
            "invalid min-lease-ttl value: invalid TTL format, use format like '30', '30s', '5m', '1h', or '2h30m'",
        ),
        ("max-lease-ttl -1s", "invalid max-lease-ttl value: TTL must be non-negative"),
        ("max-lease-ttl 4294967296", "invalid max-lease-ttl value: TTL too large, maximum is 4294967295 seconds"),
    ],
)
def test_wrong_options(option: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        parse(make_directive(f"etcd {{\n{option}\n}}"))
    assert str(raised.value) == f"Corefile:3 - Error during parsing: {error}"


@pytest.mark.parametrize("text", ["unix:///run/etcd", "http://a/v3"])
def test_endpoint_that_is_none(text: str) -> None:
    with pytest.raises(CorefileError, match=f'"{text}" is no address of an API'):
        setup(make_directive(f"etcd {{\nendpoint {text}\n}}"), make_site())


def test_what_has_no_effect_is_told() -> None:
    process = FakeProcess()
    setup(make_directive("etcd {\nstubzones\nupstream 1.1.1.1\ndebug\n}\netcd other.org"), make_site(process=process))
    assert [line.removeprefix("[WARNING] ") for line in process.lines] == [
        "'stubzones' has no effect",
        "'upstream' has no effect",
        "'debug' has no effect",
        "only the first etcd of a server block has an effect",
    ]


def test_files_of_tls_are_below_the_root(tmp_path: Path) -> None:
    site = make_site()
    site.root = str(tmp_path)
    with pytest.raises(CorefileError) as raised:
        setup(make_directive("etcd {\ntls ca.pem\n}"), site)
    assert str(raised.value) == f"error reading {tmp_path}/ca.pem: open {tmp_path}/ca.pem: no such file or directory"


def test_zone_that_leaves_no_room() -> None:
    zone = ".".join(["x" * 61] * 4)
    with pytest.raises(CorefileError, match="is too long: names below it have no room"):
        setup(make_directive(f"etcd {zone}"), make_site())
