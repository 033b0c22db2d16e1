from ipaddress import ip_address, ip_network

import pytest

from waypost.corefile.addresses import join_host_port, parse_ip, parse_network, parse_port, split_host_port


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:53", ("127.0.0.1", "53")),
        (":53", ("", "53")),
        ("localhost:", ("localhost", "")),
        ("[fd00:db8::10]:9254", ("fd00:db8::10", "9254")),
        ("[fe80::1%eth0]:53", ("fe80::1%eth0", "53")),
        ("[]:53", ("", "53")),
        ("a:x", ("a", "x")),
    ],
)
def test_split_host_port(text: str, expected: tuple[str, str]) -> None:
    assert split_host_port(text) == expected


TOO_MANY = "too many colons in address"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "missing port in address"),
        ("127.0.0.1", "address 127.0.0.1: missing port in address"),
        ("[::1]", "address [::1]: missing port in address"),
        ("[::1]80:90", "address [::1]80:90: missing port in address"),
        ("[::1]:80:90", "address [::1]:80:90: too many colons in address"),
        ("[::1:80", "address [::1:80: missing ']' in address"),
        ("a:b:c", "address a:b:c: too many colons in address"),
        ("[a[b]:1", "address [a[b]:1: unexpected '[' in address"),
        ("a[:1", "address a[:1: unexpected '[' in address"),
        ("a]b:1", "address a]b:1: unexpected ']' in address"),
        ("[a]:b]", "address [a]:b]: unexpected ']' in address"),
        (
            "fd00:db8::10:9254",
            f"address fd00:db8::10:9254: {TOO_MANY} (an IPv6 address needs brackets: [fd00:db8::10]:9254)",
        ),
        (
            "fd00:db8::a",
            f"address fd00:db8::a: {TOO_MANY} (an IPv6 address needs brackets and a port: [fd00:db8::a]:PORT)",
        ),
    ],
)
def test_split_host_port_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        split_host_port(text)
    assert str(caught.value) == expected


def test_join_host_port() -> None:
    assert join_host_port("127.0.0.1", 53) == "127.0.0.1:53"
    assert join_host_port("fe80::1%eth0", "53") == "[fe80::1%eth0]:53"
    assert split_host_port(join_host_port("::", 53)) == ("::", "53")


def test_port() -> None:
    assert (parse_port("0"), parse_port("053"), parse_port("65535")) == (0, 53, 65535)
    for text in ("65536", "99999", "-5", "+5", "x", "\u0665", "1" * 5000):
        with pytest.raises(ValueError, match=r"^address .*: invalid port$"):
            parse_port(text)
    with pytest.raises(ValueError, match=r"^invalid port$"):
        parse_port("")


def test_ip() -> None:
    assert parse_ip("10.0.0.1") == ip_address("10.0.0.1")
    assert parse_ip("2001:DB8::1") == ip_address("2001:db8::1")
    for text in ("", "10.0.0", "10.0.0.01", "10.0.0.256", "fe80::1%eth0", "[::1]", "10.0.0.1/32", " 10.0.0.1"):
        with pytest.raises(ValueError, match=r"^invalid IP address: "):
            parse_ip(text)


def test_network() -> None:
    assert parse_network("10.1.2.3/16") == ip_network("10.1.0.0/16")
    assert parse_network("::/0") == ip_network("::/0")
    assert parse_network("10.0.0.0/008") == ip_network("10.0.0.0/8")
    for text in (
        "x",
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/+8",
        "10.0.0.0/255.0.0.0",
        "10.0.0.00/8",
        "10/8",
        "fe80::1%a/64",
        "::/129",
        "10.0.0.0/8/8",
        "10.0.0.0/" + "0" * 5000,
    ):
        with pytest.raises(ValueError) as caught:
            parse_network(text)
        assert str(caught.value) == f"invalid CIDR address: {text}"
