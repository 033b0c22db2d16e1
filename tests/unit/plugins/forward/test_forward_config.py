"""The words of a forward directive."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from support.chain import FakeProcess, make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.forward import parse, setup
from waypost.plugins.forward.config import Config
from waypost.toolkit import upstream_client
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.wire.names import ROOT, from_text

UP = UpstreamAddress("127.0.0.1", 5300)


def one(text: str) -> Config:
    (config,) = parse(make_directive(text))
    return config


def block(*options: str) -> str:
    return "forward . 127.0.0.1:5300 {\n" + "\n".join(options) + "\n}"


def test_defaults() -> None:
    assert one("forward . 127.0.0.1:5300") == Config(ROOT, (UP,))


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("Example.ORG", "example.org."),
        (".:53", "."),
        ("10.0.0.0/8", "10.in-addr.arpa."),
        ("2001:db8::/32", "8.b.d.0.1.0.0.2.ip6.arpa."),
    ],
)
def test_origin(text: str, origin: str) -> None:
    assert one(f"forward {text} 127.0.0.1:5300").origin == from_text(origin)


def test_network_of_several_zones_warns() -> None:
    config = one("forward 10.96.0.0/12 127.0.0.1:5300")
    assert config.origin == from_text("96.10.in-addr.arpa.")
    assert config.warnings == (
        "Unsupported CIDR notation: '10.96.0.0/12' expands to multiple zones. Using only '96.10.in-addr.arpa.'.",
    )


OPTIONS: dict[str, dict[str, Any]] = {
    "except a.org B.org": {"excluded": (from_text("a.org."), from_text("b.org."))},
    "except a.org\nexcept b.org": {"excluded": (from_text("a.org."), from_text("b.org."))},
    "except 10.0.0.0/15": {"excluded": (from_text("0.10.in-addr.arpa."), from_text("1.10.in-addr.arpa."))},
    "force_tcp": {"force_tcp": True},
    "prefer_udp": {"prefer_udp": True},
    "force_tcp\nprefer_udp": {"force_tcp": True, "prefer_udp": True},
    "expire 20s": {"expire": 20.0},
    "expire 0s": {"expire": 0.0},
    "max_age 1m": {"max_age": 60.0},
    "expire 1s\nmax_age 1s": {"expire": 1.0, "max_age": 1.0},
    "max_age 5s\nexpire 1s": {"expire": 1.0, "max_age": 5.0},
    "max_idle_conns 4": {"max_idle_conns": 4},
    "read_timeout 500ms": {"read_timeout": 0.5},
    "max_fails 0": {"max_fails": 0},
    "max_connect_attempts 0": {"max_connect_attempts": 0},
    "max_concurrent 1000": {"max_concurrent": 1000},
    "tls": {},
    "tls ca.pem": {"tls": ("ca.pem",)},
    "tls a b c": {"tls": ("a", "b", "c")},
    "tls_servername dns.example": {"tls_servername": "dns.example"},
    "policy round_robin": {"policy": "round_robin"},
    "policy sequential": {"policy": "sequential"},
    "health_check 0": {"health_interval": 0.0},
    "health_check 5s domain example.org": {"health_interval": 5.0, "health_domain": from_text("example.org.")},
    "health_check 1s no_rec domain a.b.": {
        "health_interval": 1.0,
        "health_recursion": False,
        "health_domain": from_text("a.b."),
    },
    "health_check 1s unhealthy SERVFAIL refused": {"health_interval": 1.0, "health_unhealthy": frozenset((2, 5))},
    "health_check 1s unhealthy SERVFAIL no_rec unhealthy REFUSED": {
        "health_interval": 1.0,
        "health_recursion": False,
        "health_unhealthy": frozenset((2, 5)),
    },
    **{
        f"health_check 1s {words}": {
            "health_interval": 1.0,
            "health_recursion": False,
            "health_domain": from_text("a.b."),
            "health_unhealthy": frozenset((2, 5)),
        }
        for words in map(" ".join, permutations(("no_rec", "domain a.b", "unhealthy SERVFAIL REFUSED")))
    },
    "next NXDOMAIN servfail Refused": {"next_rcodes": frozenset((2, 3, 5))},
    "next NXDOMAIN\nnext SERVFAIL": {"next_rcodes": frozenset((2, 3))},
    "next_on_nodata": {"next_on_nodata": True},
    "failover SERVFAIL REFUSED": {"failover": frozenset((2, 5))},
    "failover NOERROR": {"failover": frozenset((0,))},
    "failfast_all_unhealthy_upstreams": {"failfast": True},
    "source_address 192.0.2.1": {"source_address": "192.0.2.1"},
    "doh_method GET": {"doh_method": "GET"},
    "doh_method POST": {},
    "resolver 192.0.2.1 [::1]:54 ::1": {
        "resolver": (UpstreamAddress("192.0.2.1", 53), UpstreamAddress("::1", 54), UpstreamAddress("::1", 53))
    },
}


@pytest.mark.parametrize("text", OPTIONS)
def test_option(text: str) -> None:
    assert one(block(*text.split("\n"))) == Config(ROOT, (UP,), **OPTIONS[text])


ARGUMENT = "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after "
UNHEALTHY = "Corefile:3 - Error during parsing: health_check: "
MISTAKES = {
    "except": ARGUMENT + "'except'",
    "force_tcp yes": ARGUMENT + "'yes'",
    "prefer_udp x": ARGUMENT + "'x'",
    "expire": ARGUMENT + "'expire'",
    "expire -1s": "expire can't be negative: -1s",
    "expire x": 'time: invalid duration "x"',
    "max_age -1s": "max_age can't be negative: -1s",
    "max_age 5s": "max_age (5s) must not be less than expire (10s)",
    "max_idle_conns -1": "max_idle_conns can't be negative: -1",
    "read_timeout 0s": "read_timeout must be greater than 0: 0s",
    "max_fails -1": 'strconv.ParseUint: parsing "-1": invalid syntax',
    "max_connect_attempts many": 'strconv.ParseUint: parsing "many": invalid syntax',
    "max_concurrent many": 'strconv.Atoi: parsing "many": invalid syntax',
    "max_concurrent -1": "max_concurrent can't be negative: -1",
    "tls a b c d": ARGUMENT + "'d'",
    "tls_servername": ARGUMENT + "'tls_servername'",
    "policy": ARGUMENT + "'policy'",
    "policy spray": "Corefile:3 - Error during parsing: unknown policy 'spray'",
    "health_check": ARGUMENT + "'health_check'",
    "health_check x": 'time: invalid duration "x"',
    "health_check 1s foo": "health_check: unknown option foo",
    "health_check 1s domain": ARGUMENT + "'domain'",
    "health_check 1s domain a..b": "health_check: invalid domain name a..b",
    "health_check 1s unhealthy": UNHEALTHY + "'unhealthy' names no rcode; expected for example: unhealthy SERVFAIL",
    "health_check 1s unhealthy no_rec": (
        UNHEALTHY + "'unhealthy' names no rcode; expected for example: unhealthy SERVFAIL"
    ),
    "health_check 1s unhealthy SERVFAIL domian a.b": (
        UNHEALTHY + "domian behind 'unhealthy' is no rcode, and none of no_rec, domain, unhealthy"
    ),
    "health_check 1s unhealthy SERVFAIL nxdomain": (
        UNHEALTHY + "nxdomain tells of the name asked for, no upstream is unhealthy for it"
    ),
    "health_check 1s unhealthy NOERROR": (
        UNHEALTHY + "NOERROR tells of the name asked for, no upstream is unhealthy for it"
    ),
    "health_check 1s unhealthy SERVFAIL\nmax_fails 0": (
        "Corefile:5 - Error during parsing: health_check: 'unhealthy' needs probes, and max_fails 0 switches them off"
    ),
    "next": ARGUMENT + "'next'",
    "next FOO": "FOO is not a valid rcode",
    "failover": ARGUMENT + "'failover'",
    "failover FOO": "FOO is not a valid rcode",
    "source_address here": "source_address: invalid IP address here",
    "resolver": ARGUMENT + "'resolver'",
    "resolver 192.0.2.1 dns.example": 'resolver must be an IP address or IP:port: "dns.example"',
    "resolver 192.0.2.1:x": 'resolver must be an IP address or IP:port: "192.0.2.1:x"',
    "resolver tls://192.0.2.1": 'resolver must be an IP address or IP:port: "tls://192.0.2.1"',
    "doh_method": ARGUMENT + "'doh_method'",
    "doh_method get": "doh_method must be either POST or GET",
    "spray": "Corefile:3 - Error during parsing: unknown property 'spray'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistake(text: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(block(text)))
    assert str(caught.value) == MISTAKES[text]


LINES = {
    "forward": "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'forward'",
    "forward .": "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after '.'",
    "forward a..b 127.0.0.1": "unable to normalize 'a..b'",
    "forward . https://127.0.0.1/dns-query": (
        "paths are not allowed in HTTPS upstream addresses (the /dns-query path is used by default):"
        " https://127.0.0.1/dns-query"
    ),
    "forward . grpc://127.0.0.1": "'grpc' is not supported as a destination protocol in forward: grpc://127.0.0.1",
    "forward . tls://300.1.1.1": 'not an IP address or file: "tls://300.1.1.1"',
    "forward . 300.1.1.1": 'not an IP address or file: "300.1.1.1"',
    "forward . foo://127.0.0.1:1": 'not an IP address or file: "foo://127.0.0.1:1"',
    "forward . /no/such/file": 'not an IP address or file: "/no/such/file"',
    "forward . " + " ".join(f"127.0.0.{n}" for n in range(1, 17)): "more than 15 TOs configured: 16",
    "forward . tls://9.9.9.9%a.example {\ntls_servername b.example\n}": (
        "both forward (b.example) and proxy level (a.example) TLS servernames are set for upstream proxy 9.9.9.9:853"
    ),
    "forward . quic://dns.example%a.example:854 {\ntls_servername b.example\n}": (
        "both forward (b.example) and proxy level (a.example) TLS servernames are set for upstream proxy"
        " dns.example:854"
    ),
    "forward . tls://9.9.9.9 {\ntls /no/such/ca\n}": (
        "error reading /no/such/ca: open /no/such/ca: no such file or directory"
    ),
    "forward . tls://9.9.9.9 {\ntls /no/cert /no/key\n}": (
        "could not load TLS cert: open /no/cert: no such file or directory"
    ),
}


@pytest.mark.parametrize("text", LINES)
def test_line_is_refused(text: str) -> None:
    with pytest.raises(CorefileError) as caught:
        setup(make_directive(text), make_site())
    assert str(caught.value) == LINES[text]


def test_certificates_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")
    site = make_site()
    site.root = str(tmp_path)
    with pytest.raises(CorefileError, match=r"could not read root certs: .*/ca\.pem: "):
        setup(make_directive("forward . tls://9.9.9.9 {\ntls ca.pem\n}"), site)
    with pytest.raises(CorefileError, match=r"could not load TLS cert: .*/ca\.pem, "):
        setup(make_directive("forward . tls://9.9.9.9 {\ntls ca.pem ca.pem\n}"), site)


def test_several_lines_are_several_handlers() -> None:
    site = make_site()
    setup(make_directive("forward a.org 127.0.0.1\nforward b.org 127.0.0.1 {\nforce_tcp\n}\nforward . 127.0.0.1"), site)
    assert len(site.handlers["forward"]) == 3


def test_warnings_are_logged() -> None:
    process = FakeProcess()
    setup(make_directive(block("except a..b")), make_site(process=process))
    setup(make_directive("forward . 127.0.0.1:x"), make_site(process=process))
    assert process.lines == [
        "[WARNING] except: 'a..b' is not a zone and excludes nothing",
        "[WARNING] upstream 127.0.0.1:0 has no valid port and will never answer",
    ]


@pytest.mark.parametrize(
    ("scheme", "package", "extra"), [("https", "h2", "doh"), ("quic", "aioquic", "quic")], ids=["https", "quic"]
)
@pytest.mark.parametrize("host", ["127.0.0.1", "dns.example"])
def test_extra_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, scheme: str, package: str, extra: str, host: str
) -> None:
    monkeypatch.setattr(upstream_client, "find_spec", lambda name: None)
    with pytest.raises(CorefileError) as caught:
        setup(make_directive(f"forward . {scheme}://{host}"), make_site())
    assert str(caught.value) == (
        f"{scheme}:// upstreams need the package {package}, which is not installed: pip install 'waypost[{extra}]'"
    )
    setup(make_directive("forward . 127.0.0.1 tls://127.0.0.1"), make_site())


def test_server_names() -> None:
    process = FakeProcess()
    text = "forward . tls://9.9.9.9 https://9.9.9.10%x.example 9.9.9.11 {\ntls_servername dns.example\n}"
    setup(make_directive(text), make_site(process=process))
    (group,) = process.lender.lent.values()
    names = [upstream.address.server_name for upstream in group.members]  # type: ignore[attr-defined]
    assert names == ["dns.example", "dns.example", ""]


def test_nothing_is_resolved_before_the_start() -> None:
    process = FakeProcess()
    setup(make_directive("forward . dns.example https://dns.example 192.0.2.1"), make_site(process=process))
    (group,) = process.lender.lent.values()
    assert [upstream.text for upstream in group.members] == ["192.0.2.1:53"]  # type: ignore[attr-defined]
    assert process.lines == []


def lent(text: str, process: FakeProcess) -> object:
    before = set(process.lender.lent)
    setup(make_directive(text), make_site(process=process))
    (key,) = set(process.lender.lent) - before or {None}
    return key


def test_equal_upstreams_are_shared_over_a_reload() -> None:
    process = FakeProcess()
    first = "forward . 127.0.0.1 {\nmax_fails 3\n}"
    assert lent(first, process)
    assert not lent(first, process)
    assert not lent("forward . 127.0.0.1 {\nmax_fails 3\nexcept a.org\npolicy sequential\nmax_concurrent 3\n}", process)
    assert lent("forward . 127.0.0.1 {\nmax_fails 4\n}", process)
    assert lent("forward . 127.0.0.1 {\nmax_fails 3\nhealth_check 500ms unhealthy SERVFAIL\n}", process)
    assert lent("forward . 127.0.0.2 {\nmax_fails 3\n}", process)
    assert lent("forward . 127.0.0.1 {\nmax_fails 3\nforce_tcp\n}", process)
    assert lent("forward . dns.example", process)
    assert not lent("forward . dns.example {\nexcept a.org\n}", process)
    assert lent("forward . dns.example {\nresolver 192.0.2.1\n}", process)
    assert lent("forward . https://127.0.0.1", process)
    assert lent("forward . https://127.0.0.1 {\ndoh_method GET\n}", process)
