"""Upstreams as they are written in a Corefile."""

from __future__ import annotations

import socket

import pytest

from waypost.toolkit.upstream_address import UpstreamAddress, UpstreamHost, parse_upstream, parse_upstream_host

ADDRESSES = {
    "1.2.3.4": UpstreamAddress("1.2.3.4", 53),
    "1.2.3.4:5353": UpstreamAddress("1.2.3.4", 5353),
    "dns://1.2.3.4": UpstreamAddress("1.2.3.4", 53),
    "::1": UpstreamAddress("::1", 53),
    "[::1]:5353": UpstreamAddress("::1", 5353),
    "fe80::1%eth0": UpstreamAddress("fe80::1", 53, scope="eth0"),
    "[fe80::1%eth0]:5353": UpstreamAddress("fe80::1", 5353, scope="eth0"),
    "tls://9.9.9.9": UpstreamAddress("9.9.9.9", 853, scheme="tls"),
    "tls://9.9.9.9:1853": UpstreamAddress("9.9.9.9", 1853, scheme="tls"),
    "tls://9.9.9.9%dns.quad9.net": UpstreamAddress("9.9.9.9", 853, scheme="tls", server_name="dns.quad9.net"),
    "tls://9.9.9.9%dns.quad9.net:1853": UpstreamAddress("9.9.9.9", 1853, scheme="tls", server_name="dns.quad9.net"),
    "tls://2620:fe::9%dns.quad9.net": UpstreamAddress("2620:fe::9", 853, scheme="tls", server_name="dns.quad9.net"),
    "tls://fe80::1%eth0": UpstreamAddress("fe80::1", 853, scope="eth0", scheme="tls"),
    "https://1.1.1.1": UpstreamAddress("1.1.1.1", 443, scheme="https"),
    "https://[::1]:8443": UpstreamAddress("::1", 8443, scheme="https"),
    "https://9.9.9.9%dns.quad9.net": UpstreamAddress("9.9.9.9", 443, scheme="https", server_name="dns.quad9.net"),
    "quic://94.140.14.14": UpstreamAddress("94.140.14.14", 853, scheme="quic"),
    "quic://::1%dns.example": UpstreamAddress("::1", 853, scheme="quic", server_name="dns.example"),
    "1.2.3.4:x": UpstreamAddress("1.2.3.4", 0),
    "1.2.3.4:70000": UpstreamAddress("1.2.3.4", 0),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_address(text: str) -> None:
    assert parse_upstream(text, "forward") == ADDRESSES[text]


@pytest.mark.parametrize("text", ["300.1.1.1", "/etc/resolv.conf", "dns.example", "foo://1.2.3.4:53", "[::1]", ""])
def test_no_address(text: str) -> None:
    assert parse_upstream(text, "forward") is None


@pytest.mark.parametrize("scheme", ["grpc", "https3", "unix"])
def test_scheme_that_is_no_upstreams(scheme: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_upstream(f"{scheme}://1.2.3.4", "forward")
    assert str(caught.value) == f"'{scheme}' is not supported as a destination protocol in forward: {scheme}://1.2.3.4"


@pytest.mark.parametrize("text", ["https://1.1.1.1/dns-query", "https://1.1.1.1/", "https://dns.example/x"])
def test_path_is_refused(text: str) -> None:
    for parse in (parse_upstream, parse_upstream_host):
        with pytest.raises(ValueError) as caught:
            parse(text, "forward")
        assert str(caught.value) == (
            f"paths are not allowed in HTTPS upstream addresses (the /dns-query path is used by default): {text}"
        )


HOSTS = {
    "dns.example": UpstreamHost("dns.example", 53),
    "Unbound": UpstreamHost("Unbound", 53),
    "my_dns.svc.cluster.local.:5353": UpstreamHost("my_dns.svc.cluster.local.", 5353),
    "dns://dns.example:54": UpstreamHost("dns.example", 54),
    "tls://dns.example": UpstreamHost("dns.example", 853, "tls"),
    "tls://dns.example%other.example:8853": UpstreamHost("dns.example", 8853, "tls", "other.example"),
    "https://dns.example": UpstreamHost("dns.example", 443, "https"),
    "quic://dns.example": UpstreamHost("dns.example", 853, "quic"),
}


@pytest.mark.parametrize("text", HOSTS)
def test_host(text: str) -> None:
    assert parse_upstream(text, "forward") is None
    assert parse_upstream_host(text, "forward") == HOSTS[text]


NO_HOSTS = [
    "",
    ".",
    "300.1.1.1",
    "/etc/resolv.conf",
    "a..b",
    "-a.example",
    "a b",
    "a:",
    "a:x",
    "a:0",
    "::1",
    "foo://a.example",
    "a%b",
]


@pytest.mark.parametrize("text", [*NO_HOSTS, "x" * 64, ".".join(["x" * 60] * 5)])
def test_no_host(text: str) -> None:
    assert parse_upstream_host(text, "forward") is None


def test_address_of_a_host() -> None:
    assert UpstreamHost("dns.example", 54).at("::1") == UpstreamAddress("::1", 54)
    host = UpstreamHost("dns.example.", 853, "tls")
    assert host.at("1.2.3.4") == UpstreamAddress("1.2.3.4", 853, scheme="tls", server_name="dns.example")
    assert UpstreamHost("a.example", 1, "quic", "b.example").at("::1").server_name == "b.example"


def test_text_is_what_go_prints() -> None:
    assert str(UpstreamAddress("fe80::1", 53, scope="eth0")) == "[fe80::1%eth0]:53"
    assert str(UpstreamAddress("1.2.3.4", 53)) == "1.2.3.4:53"


def test_sockaddr_keeps_the_scope() -> None:
    index = socket.if_nametoindex("lo")
    assert UpstreamAddress("fe80::1", 53, scope="lo").sockaddr() == ("fe80::1", 53, 0, index)
    assert UpstreamAddress("fe80::1", 53, scope="7").sockaddr() == ("fe80::1", 53, 0, 7)
    assert UpstreamAddress("::1", 53).sockaddr() == ("::1", 53, 0, 0)
    with pytest.raises(OSError):
        UpstreamAddress("fe80::1", 53, scope="nosuchif0").sockaddr()
