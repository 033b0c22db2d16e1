"""Upstreams as they are written in a Corefile."""

from __future__ import annotations

import socket

import pytest

from waypost.toolkit.upstream_address import UpstreamAddress, parse_upstream

ADDRESSES = {
    "1.2.3.4": UpstreamAddress("1.2.3.4", 53),
    "1.2.3.4:5353": UpstreamAddress("1.2.3.4", 5353),
    "dns://1.2.3.4": UpstreamAddress("1.2.3.4", 53),
    "::1": UpstreamAddress("::1", 53),
    "[::1]:5353": UpstreamAddress("::1", 5353),
    "fe80::1%eth0": UpstreamAddress("fe80::1", 53, scope="eth0"),
    "[fe80::1%eth0]:5353": UpstreamAddress("fe80::1", 5353, scope="eth0"),
    "tls://9.9.9.9": UpstreamAddress("9.9.9.9", 853, tls=True),
    "tls://9.9.9.9:1853": UpstreamAddress("9.9.9.9", 1853, tls=True),
    "tls://9.9.9.9%dns.quad9.net": UpstreamAddress("9.9.9.9", 853, tls=True, server_name="dns.quad9.net"),
    "tls://9.9.9.9%dns.quad9.net:1853": UpstreamAddress("9.9.9.9", 1853, tls=True, server_name="dns.quad9.net"),
    "tls://2620:fe::9%dns.quad9.net": UpstreamAddress("2620:fe::9", 853, tls=True, server_name="dns.quad9.net"),
    "tls://fe80::1%eth0": UpstreamAddress("fe80::1", 853, scope="eth0", tls=True),
    "1.2.3.4:x": UpstreamAddress("1.2.3.4", 0),
    "1.2.3.4:70000": UpstreamAddress("1.2.3.4", 0),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_address(text: str) -> None:
    assert parse_upstream(text, "forward") == ADDRESSES[text]


@pytest.mark.parametrize("text", ["300.1.1.1", "/etc/resolv.conf", "dns.example", "foo://1.2.3.4:53", "[::1]", ""])
def test_no_address(text: str) -> None:
    assert parse_upstream(text, "forward") is None


@pytest.mark.parametrize("scheme", ["quic", "grpc", "https3", "unix"])
def test_scheme_that_is_no_upstreams(scheme: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_upstream(f"{scheme}://1.2.3.4", "forward")
    assert str(caught.value) == f"'{scheme}' is not supported as a destination protocol in forward: {scheme}://1.2.3.4"


def test_https_is_not_supported_yet() -> None:
    with pytest.raises(ValueError, match="'https' upstreams are not supported yet"):
        parse_upstream("https://1.1.1.1", "forward")


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
