"""The words of the grpc directive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.grpc import parse
from waypost.toolkit.zonelist import ZoneList
from waypost.wire.names import ROOT, from_text

ARGUMENT = "Wrong argument count or unexpected line ending after "


def at(line: int, text: str) -> str:
    return f"Corefile:{line} - Error during parsing: {text}"


@pytest.mark.parametrize(
    ("text", "upstreams"),
    [
        ("127.0.0.1", ["127.0.0.1:53"]),
        ("127.0.0.1:444 [::1]:445", ["127.0.0.1:444", "[::1]:445"]),
        ("grpc://127.0.0.1 grpc://127.0.0.1:8053 grpc://::1", ["127.0.0.1:443", "127.0.0.1:8053", "[::1]:443"]),
        ("fe80::1%eth0", ["[fe80::1%eth0]:53"]),
    ],
)
def test_upstreams(text: str, upstreams: list[str]) -> None:
    config = parse(make_directive(f"grpc . {text}"))
    assert [str(address) for address in config.to] == upstreams
    assert {address.scheme for address in config.to} == {"grpc"}


def test_name_servers_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("nameserver 10.0.0.1\nnameserver ::1\n", encoding="ascii")
    config = parse(make_directive(f"grpc . {tmp_path}/conf"))
    assert [str(address) for address in config.to] == ["10.0.0.1:53", "[::1]:53"]


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ("except a.org b.org\nexcept c.org", {"excluded": tuple(map(from_text, ("a.org.", "b.org.", "c.org.")))}),
        ("tls", {"tls": ()}),
        ("tls ca", {"tls": ("ca",)}),
        ("tls cert key ca", {"tls": ("cert", "key", "ca")}),
        ("tls_servername dns.example", {"tls": (), "tls_servername": "dns.example"}),
        ("tls_servername dns.example\ntls ca", {"tls": ("ca",), "tls_servername": "dns.example"}),
        ("policy round_robin", {"policy": "round_robin"}),
        ("fallthrough", {"fall": ZoneList(frozenset((ROOT,)))}),
        ("fallthrough a.org", {"fall": ZoneList(frozenset((from_text("a.org."),)))}),
        ("", {"tls": None, "policy": "random", "fall": ZoneList(), "origin": from_text("example.org.")}),
    ],
)
def test_options(options: str, fields: dict[str, Any]) -> None:
    config = parse(make_directive(f"grpc example.org 127.0.0.1 {{\n{options}\n}}"))
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("grpc", at(2, f"{ARGUMENT}'grpc'")),
        ("grpc .", at(2, f"{ARGUMENT}'.'")),
        ("grpc . 127.0.0.1 {\nfoo\n}", at(3, "unknown property 'foo'")),
        ("grpc . 127.0.0.1 {\nexcept\n}", at(3, f"{ARGUMENT}'except'")),
        ("grpc . 127.0.0.1 {\ntls a b c d\n}", at(3, f"{ARGUMENT}'d'")),
        ("grpc . 127.0.0.1 {\ntls_servername\n}", at(3, f"{ARGUMENT}'tls_servername'")),
        ("grpc . 127.0.0.1 {\npolicy first\n}", at(3, "unknown policy 'first'")),
        ("grpc . 127.0.0.1\ngrpc . 127.0.0.2", "this plugin can only be used once per Server Block"),
        ("grpc . /none/file", 'not an IP address or file: "/none/file"'),
        ("grpc . tls://127.0.0.1", 'not an IP address or file: "tls://127.0.0.1"'),
        ("grpc . " + " ".join(f"10.0.0.{n}" for n in range(16)), "more than 15 TOs configured: 16"),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == error
