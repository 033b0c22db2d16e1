"""Services seen from outside, as record text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import dns.rdatatype
import pytest

from support.objects import endpoint, endpoint_slice, make_index, namespace, port, service
from support.records import record_texts
from waypost.cluster.answer import Result
from waypost.cluster.external import View, answer, reverse, server_addresses, zone_records, zone_serial
from waypost.cluster.index import Index
from waypost.cluster.objects import EndpointPort, Ingress
from waypost.cluster.policy import Policy
from waypost.wire import addr, names
from waypost.wire.record import soa

ZONE = names.from_text("ext.test.")
NS1 = names.from_text("ns1.dns.ext.test.")
SOA = soa(ZONE, 7, NS1, b"\x0ahostmaster" + ZONE, 9, (7200, 1800, 86400, 7))
APEX = "@ 7 SOA ns1.dns hostmaster 9 7200 1800 86400 7"
HTTP = EndpointPort(8080, "http", "TCP")
PORTS = (port(80, "http"), port(443, "https"))


@pytest.fixture
def index() -> Index:
    return make_index(
        *map(namespace, ("shop", "quiet")),
        service("shop/lb", "10.96.1.1", ports=PORTS, outside=("203.0.113.7", "2001:db8::7")),
        service("shop/host", "10.96.1.2", ports=PORTS, balancer=(Ingress(hostname="lb.example.net"),)),
        service(
            "shop/both",
            "10.96.1.3",
            ports=(port(80, "http"),),
            outside=("203.0.113.8",),
            balancer=(Ingress(hostname="a.example.net"), Ingress(hostname="b.example.net")),
        ),
        service("shop/bare", "10.96.1.4", outside=("203.0.113.9",)),
        service("shop/inner", "10.96.1.5", ports=PORTS),
        endpoint_slice("shop/inner-1", endpoint("10.0.0.5", host="ep"), of="inner", ports=(HTTP,)),
        service("shop/db", "None", ports=PORTS),
        endpoint_slice("shop/db-1", endpoint("10.0.0.1", host="db-0"), endpoint("10.0.0.2"), of="db", ports=(HTTP,)),
        service("hidden/lb", "10.96.1.9", ports=PORTS, outside=("203.0.113.7",)),
    )


def view(index: Index, *, headless: bool = False, **policy: object) -> View:
    return View(index, Policy(**{"ttl": 5, **policy}), 7, headless)  # type: ignore[arg-type]


def ask(seen: View, name: str, qtype: str) -> Result:
    return answer(seen, ZONE, names.from_text(f"{name}.ext.test."), dns.rdatatype.from_text(qtype))


def texts(result: Result) -> list[str]:
    return record_texts(result.answer, "ext.test.")


def glue(result: Result) -> list[str]:
    return record_texts(result.additional, "ext.test.")


@pytest.mark.parametrize("name", ["lb.shop", "anything.lb.shop", "_http._tcp.lb.shop", "http.tcp.lb.shop"])
def test_addresses_at_every_form_of_the_name(index: Index, name: str) -> None:
    assert texts(ask(view(index), name, "A")) == [f"{name} 7 A 203.0.113.7"]
    assert texts(ask(view(index), name, "AAAA")) == [f"{name} 7 AAAA 2001:db8::7"]


def test_the_spelling_of_the_question_is_kept(index: Index) -> None:
    assert texts(ask(view(index), "LB.Shop", "A")) == ["LB.Shop 7 A 203.0.113.7"]


@pytest.mark.parametrize(
    "name",
    [
        "nobody.shop",
        "lb.nowhere",
        "lb.hidden",
        "nowhere",
        "inner.shop",
        "ep.inner.shop",
        "db.shop",
        "db-0.db.shop",
        "_dns._tcp.lb.shop",
        "_http._udp.lb.shop",
        "_http._tcp.bare.shop",
        "a.b.c.lb.shop",
    ],
)
def test_what_does_not_exist(index: Index, name: str) -> None:
    for qtype in ("A", "SRV", "TXT"):
        assert not ask(view(index), name, qtype).exists


@pytest.mark.parametrize(
    ("name", "qtype"),
    [
        ("shop", "A"),
        ("quiet", "SRV"),
        ("lb.shop", "TXT"),
        ("lb.shop", "CNAME"),
        ("bare.shop", "AAAA"),
        ("lb.shop", "PTR"),
    ],
)
def test_what_exists_without_such_data(index: Index, name: str, qtype: str) -> None:
    result = ask(view(index), name, qtype)
    assert result.exists
    assert not result.answer


def test_service_records(index: Index) -> None:
    result = ask(view(index), "lb.shop", "SRV")
    assert texts(result) == ["lb.shop 5 SRV 0 25 80 lb.shop", "lb.shop 5 SRV 0 25 443 lb.shop"]
    assert glue(result) == ["lb.shop 7 A 203.0.113.7", "lb.shop 7 AAAA 2001:db8::7"]
    result = ask(view(index), "_https._tcp.lb.shop", "SRV")
    assert texts(result) == ["_https._tcp.lb.shop 5 SRV 0 50 443 lb.shop"]
    assert ask(view(index), "bare.shop", "SRV") == Result(True, depends=(b"\x04bare\x04shop",))


def test_host_names_are_chased(index: Index) -> None:
    result = ask(view(index), "host.shop", "A")
    assert texts(result) == ["host.shop 5 CNAME lb.example.net."], "once, whatever the number of ports"
    assert result.chase == (names.from_text("lb.example.net."),)
    result = ask(view(index), "_http._tcp.host.shop", "SRV")
    assert texts(result) == ["_http._tcp.host.shop 5 SRV 0 100 80 lb.example.net."]
    assert result.chase == (names.from_text("lb.example.net."),)
    assert glue(result) == []
    assert texts(ask(view(index), "both.shop", "A")) == [
        "both.shop 7 A 203.0.113.8",
        "both.shop 5 CNAME a.example.net.",
        "both.shop 5 CNAME b.example.net.",
    ]


def test_endpoints_with_headless(index: Index) -> None:
    seen = view(index, headless=True)
    assert texts(ask(seen, "db.shop", "A")) == ["db.shop 7 A 10.0.0.1", "db.shop 7 A 10.0.0.2"]
    assert texts(ask(seen, "db-0.db.shop", "A")) == ["db-0.db.shop 7 A 10.0.0.1"]
    assert texts(ask(seen, "ep.inner.shop", "A")) == ["ep.inner.shop 7 A 10.0.0.5"]
    result = ask(seen, "_http._tcp.db.shop", "SRV")
    assert texts(result) == [
        "_http._tcp.db.shop 5 SRV 0 50 8080 db-0.db.shop",
        "_http._tcp.db.shop 5 SRV 0 50 8080 10-0-0-2.db.shop",
    ]
    assert glue(result) == ["db-0.db.shop 7 A 10.0.0.1", "10-0-0-2.db.shop 7 A 10.0.0.2"]
    assert not ask(seen, "inner.shop", "A").exists
    assert not ask(seen, "nobody.db.shop", "A").exists
    assert texts(ask(seen, "x.lb.shop", "A")) == ["x.lb.shop 7 A 203.0.113.7"]


def test_namespaces_hide(index: Index) -> None:
    assert not ask(view(index, namespaces=frozenset((b"quiet",))), "lb.shop", "A").exists


def test_answers_depend_on_their_service(index: Index) -> None:
    for name in ("lb.shop", "x.lb.shop", "_http._tcp.lb.shop"):
        assert ask(view(index), name, "A").depends == (b"\x02lb\x04shop",)
    assert ask(view(index), "nobody.shop", "A").depends == (b"\x06nobody\x04shop",)


def test_reverse(index: Index) -> None:
    packed = addr.pack("203.0.113.7")
    assert packed is not None
    qname = addr.reverse_name(packed)
    assert record_texts(reverse(view(index), ZONE, qname, packed).answer, "ext.test.") == [
        "7.113.0.203.in-addr.arpa. 7 PTR lb.shop",
        "7.113.0.203.in-addr.arpa. 7 PTR lb.hidden",
    ]
    shown = view(index, namespaces=frozenset((b"shop",)))
    assert len(reverse(shown, ZONE, qname, packed).answer) == 1
    assert reverse(view(index), ZONE, qname, b"\x0a\x60\x01\x01") == Result(False, depends=(b"\x0a\x60\x01\x01",))


def test_where_this_server_is_reached() -> None:
    own, other = (addr.pack(text) for text in ("10.3.0.1", "10.3.0.2"))
    assert own is not None
    assert other is not None
    index = make_index(
        service("k/dns", "10.96.0.10", outside=("203.0.113.53", "2001:db8::53")),
        service("k/inner", "10.96.0.11"),
        service("k/headless", "None"),
        *(endpoint_slice(f"k/{of}", endpoint("10.3.0.1"), of=of) for of in ("dns", "inner", "headless", "gone")),
        endpoint_slice("k/i", endpoint("10.3.0.2"), of="inner"),
    )
    texts = [addr.unpack(packed) for packed in server_addresses(view(index), [own])]
    assert texts == ["203.0.113.53", "2001:db8::53"]
    assert own in server_addresses(view(index, headless=True), [own])
    assert server_addresses(view(index), [other]) == (), "an endpoint of a Service without external addresses"
    assert server_addresses(view(make_index()), [own]) == (own,)


def test_serial() -> None:
    seconds: Iterator[int] = count(1)
    index = Index(lambda: float(next(seconds)))
    index.sinks["Service"].changed(service("a/inner", "10.96.0.1"))
    assert (zone_serial(view(index)), zone_serial(view(index, headless=True))) == (0, 1)
    index.sinks["Service"].changed(service("a/lb", "10.96.0.2", outside=("203.0.113.7",)))
    index.sinks["Service"].changed(service("a/inner", "10.96.0.3"))
    assert zone_serial(view(index)) < zone_serial(view(index, headless=True)) == index.serial


def test_a_whole_zone(index: Index) -> None:
    own = b"\x0a\x03\x00\x01"
    assert record_texts(zone_records(view(index), ZONE, SOA, NS1, [own]), "ext.test.") == [
        APEX,
        "@ 7 NS ns1.dns",
        "ns1.dns 7 A 10.3.0.1",
        "bare.shop 7 A 203.0.113.9",
        "both.shop 7 A 203.0.113.8",
        "both.shop 5 SRV 0 33 80 both.shop",
        "both.shop 5 SRV 0 33 80 a.example.net.",
        "both.shop 5 SRV 0 33 80 b.example.net.",
        "_http._tcp.both.shop 5 SRV 0 33 80 both.shop",
        "_http._tcp.both.shop 5 SRV 0 33 80 a.example.net.",
        "_http._tcp.both.shop 5 SRV 0 33 80 b.example.net.",
        "host.shop 5 CNAME lb.example.net.",
        "_http._tcp.host.shop 5 SRV 0 100 80 lb.example.net.",
        "_https._tcp.host.shop 5 SRV 0 100 443 lb.example.net.",
        "lb.shop 7 A 203.0.113.7",
        "lb.shop 7 AAAA 2001:db8::7",
        "lb.shop 5 SRV 0 25 80 lb.shop",
        "lb.shop 5 SRV 0 25 443 lb.shop",
        "_http._tcp.lb.shop 5 SRV 0 50 80 lb.shop",
        "_https._tcp.lb.shop 5 SRV 0 50 443 lb.shop",
        APEX,
    ]


def test_a_whole_zone_with_headless(index: Index) -> None:
    records = record_texts(zone_records(view(index, headless=True), ZONE, SOA, NS1), "ext.test.")
    assert [text for text in records if "db." in text] == [
        "db.shop 7 A 10.0.0.1",
        "db.shop 7 A 10.0.0.2",
        "db.shop 5 SRV 0 50 8080 db-0.db.shop",
        "db.shop 5 SRV 0 50 8080 10-0-0-2.db.shop",
        "db-0.db.shop 7 A 10.0.0.1",
        "10-0-0-2.db.shop 7 A 10.0.0.2",
        "_http._tcp.db.shop 5 SRV 0 50 8080 db-0.db.shop",
        "_http._tcp.db.shop 5 SRV 0 50 8080 10-0-0-2.db.shop",
    ]
    assert not [text for text in records if "inner" in text]
