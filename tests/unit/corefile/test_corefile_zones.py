import pytest

from waypost.corefile.errors import CorefileError
from waypost.corefile.zones import (
    ZoneAddress,
    is_preferred_syntax,
    normalize_name,
    parse_label,
    zones_of_argument,
)


def zones(label: str) -> list[str]:
    return [address.zone for address in parse_label(label, "53")]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (".", ("dns", ".", "53")),
        (".:5353", ("dns", ".", "5353")),
        ("EXAMPLE.Org", ("dns", "example.org.", "53")),
        ("example.org.:53", ("dns", "example.org.", "53")),
        ("dns://a.org", ("dns", "a.org.", "53")),
        ("tls://a.org", ("tls", "a.org.", "853")),
        ("quic://a.org", ("quic", "a.org.", "853")),
        ("grpc://a.org", ("grpc", "a.org.", "443")),
        ("https://a.org", ("https", "a.org.", "443")),
        ("https3://.", ("https3", ".", "443")),
        ("tls://.:8853", ("tls", ".", "8853")),
        ("foo://a.org:1", ("dns", "foo://a.org.", "1")),
        ("DNS://a.org", ("dns", "dns://a.org.", "53")),
        ("a.org:+0053", ("dns", "a.org.", "53")),
        ("a.org:-5", ("dns", "a.org.", "-5")),
        ("a.org:99999", ("dns", "a.org.", "99999")),
        ("a.org:x", ("dns", "a.org:x.", "53")),
        ("a.org,b.org:53", ("dns", "a.org,b.org.", "53")),
        ("*.org", ("dns", "*.org.", "53")),
        ("a b.org", ("dns", "a b.org.", "53")),
        ("[::1]", ("dns", "[::1].", "53")),
        ("10.0.0.0", ("dns", "10.0.0.0.", "53")),
        ("10.0.0.0/33", ("dns", "10.0.0.0/33.", "53")),
        ("10.0.0/24", ("dns", "10.0.0/24.", "53")),
        ("a/b.org", ("dns", "a/b.org.", "53")),
        ("\u00c4.org", ("dns", "\u00c4.org.", "53")),
        (r"a\.b\032c.org", ("dns", r"a\.b\032c.org.", "53")),
        ("10.0.0.0/24:54", ("dns", "0.0.10.in-addr.arpa.", "54")),
        ("tls://10.0.0.0/24", ("tls", "0.0.10.in-addr.arpa.", "853")),
        ("2001:db8::/32:54", ("dns", "8.b.d.0.1.0.0.2.ip6.arpa.", "54")),
    ],
)
def test_label(label: str, expected: tuple[str, str, str]) -> None:
    assert parse_label(label, "53") == [ZoneAddress(*expected)]


def test_default_port_is_that_of_plain_dns_only() -> None:
    assert [parse_label(label, "1053")[0].port for label in ("a", "dns://a", "tls://a", "a:5")] == [
        "1053",
        "1053",
        "853",
        "5",
    ]


@pytest.mark.parametrize("label", ["unix:///run/dns.sock", "unix://", "unix://a..b"])
def test_unix_gives_no_server(label: str) -> None:
    assert parse_label(label, "53") == []


LONG = ".".join(["a" * 49] * 6)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("", 'expecting data after last colon: ""'),
        ("x:", 'expecting data after last colon: "x:"'),
        ("dns://", 'expecting data after last colon: ""'),
        (":53", "zone is not a valid domain name: "),
        ("a..org", "zone is not a valid domain name: a..org"),
        (".a.org:53", "zone is not a valid domain name: .a.org"),
        ("..", "zone is not a valid domain name: .."),
        (".:53{", "zone is not a valid domain name: .:53{"),
        ("a" * 64 + ".org", f"zone is not a valid domain name: {'a' * 64}.org"),
        ("\u00e4" * 32, f"zone is not a valid domain name: {'ä' * 32}"),
        ("a\\", "zone is not a valid domain name: a\\"),
        (r"a\256", r"zone is not a valid domain name: a\256"),
        (r"a\1", r"zone is not a valid domain name: a\1"),
        (LONG, f"specified zone is too long: {len(LONG)} > 255"),
        ("a." * 126 + "aa", f"zone is not a valid domain name: {'a.' * 126}aa"),
        ("::/0", "invalid CIDR ::/0"),
        ("0::/8:53", "invalid CIDR 0::/8"),
    ],
)
def test_label_refused(label: str, expected: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse_label(label, "53")
    assert str(caught.value) == f"error inspecting server blocks: {expected}"


def test_the_longest_names() -> None:
    assert zones("a." * 126 + "a") == ["a." * 127]
    assert zones("a" * 63) == ["a" * 63 + "."]
    assert zones(r"\097" * 63) == [r"\097" * 63 + "."]


@pytest.mark.parametrize(
    ("network", "count", "first", "last"),
    [
        ("10.1.2.3/16", 1, "1.10.in-addr.arpa.", "1.10.in-addr.arpa."),
        ("10.0.0.0/17", 128, "0.0.10.in-addr.arpa.", "127.0.10.in-addr.arpa."),
        ("10.0.0.0/25", 128, "0.0.0.10.in-addr.arpa.", "127.0.0.10.in-addr.arpa."),
        ("10.0.0.32/27", 32, "32.0.0.10.in-addr.arpa.", "63.0.0.10.in-addr.arpa."),
        ("10.0.0.0/1", 128, "0.in-addr.arpa.", "127.in-addr.arpa."),
        ("0.0.0.0/0", 1, "in-addr.arpa.", "in-addr.arpa."),
        ("10.1.2.3/32", 1, "3.2.1.10.in-addr.arpa.", "3.2.1.10.in-addr.arpa."),
        ("2001:db8::/33", 8, "0.8.b.d.0.1.0.0.2.ip6.arpa.", "7.8.b.d.0.1.0.0.2.ip6.arpa."),
        ("FE80::/10", 4, "8.e.f.ip6.arpa.", "b.e.f.ip6.arpa."),
        ("fe80::/9", 8, "8.e.f.ip6.arpa.", "f.e.f.ip6.arpa."),
        ("1::/0", 1, "ip6.arpa.", "ip6.arpa."),
        ("1::a/128", 1, "a" + ".0" * 27 + ".1.0.0.0.ip6.arpa.", "a" + ".0" * 27 + ".1.0.0.0.ip6.arpa."),
    ],
)
def test_networks(network: str, count: int, first: str, last: str) -> None:
    found = zones(network)
    assert (len(set(found)), len(found), found[0], found[-1]) == (count, count, first, last)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("Example.ORG", ["example.org."]),
        (".", ["."]),
        ("dns://a.org:53", ["a.org."]),
        ("unix://a.org", ["a.org."]),
        ("10.0.0.0/24", ["0.0.10.in-addr.arpa."]),
        ("a..org", []),
        ("", []),
        ("::/0", []),
        ("x:", []),
    ],
)
def test_zones_of_argument(argument: str, expected: list[str]) -> None:
    assert zones_of_argument(argument) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "."),
        (".", "."),
        ("A.b", "a.b."),
        ("a.b.", "a.b."),
        ("a\\.", "a\\.."),
        ("a\\\\.", "a\\\\."),
        ("\u00c4\u212a.", "\u00c4\u212a."),
    ],
)
def test_normalize_name(text: str, expected: str) -> None:
    assert normalize_name(text) == expected


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (".", True),
        ("example.org.", True),
        ("a-1.xn--p1ai.", True),
        ("10.in-addr.arpa.", True),
        ("in-addr.arpa.", True),
        ("ip6.arpa.", True),
        ("0/25.2.0.192.in-addr.arpa.", True),
        ("1a.org.", False),
        ("a-.org.", False),
        ("_tcp.org.", False),
        ("*.org.", False),
        ("a,b.", False),
        ("}.", False),
        ("\u00e4.org.", False),
        ("a\n.", False),
        ("example.org", False),
    ],
)
def test_preferred_syntax(zone: str, expected: bool) -> None:
    assert is_preferred_syntax(zone) is expected
