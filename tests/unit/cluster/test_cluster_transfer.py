"""A cluster zone as a whole."""

from __future__ import annotations

from support.objects import endpoint, endpoint_slice, make_index, namespace, port, service
from support.records import record_texts
from waypost.cluster.index import Index
from waypost.cluster.objects import EndpointPort
from waypost.cluster.policy import Policy
from waypost.cluster.transfer import zone_records
from waypost.wire import addr, names
from waypost.wire.record import soa

ZONE = names.from_text("cluster.local.")
SOA = soa(ZONE, 5, b"\x02ns\x03dns" + ZONE, b"\x0ahostmaster" + ZONE, 7, (7200, 1800, 86400, 5))
APEX = "@ 5 SOA ns.dns hostmaster 7 7200 1800 86400 5"
HTTP = EndpointPort(8080, "http", "TCP")


def zone(index: Index, *local: str, **policy: object) -> list[str]:
    packed = [found for found in map(addr.pack, local) if found is not None]
    return record_texts(zone_records(index, Policy(**policy), ZONE, SOA, packed), "cluster.local.")  # type: ignore[arg-type]


def test_an_empty_cluster_has_its_soa_twice() -> None:
    assert zone(make_index()) == [APEX, APEX]


def test_name_servers_that_no_service_stands_for() -> None:
    assert zone(make_index(), "10.0.0.1", "fd00::1") == [
        APEX,
        "@ 5 NS ns.dns",
        "ns.dns 0 A 10.0.0.1",
        "ns.dns 0 AAAA fd00::1",
        APEX,
    ]


def test_several_name_servers() -> None:
    index = make_index(
        service("k/dns", "10.96.0.10", "fd00:96::a"),
        service("k/headless", "None"),
        *(endpoint_slice(f"k/{of}", endpoint("10.0.0.1"), of=of) for of in ("dns", "headless")),
    )
    assert zone(index, "10.0.0.1") == [
        APEX,
        "@ 5 NS dns.k.svc",
        "dns.k.svc 0 A 10.96.0.10",
        "dns.k.svc 0 AAAA fd00:96::a",
        "@ 5 NS 10-0-0-1.headless.k.svc",
        "10-0-0-1.headless.k.svc 0 A 10.0.0.1",
        APEX,
    ], "the namespace is not there, so its Services are not"


def test_services_of_every_kind_by_name() -> None:
    index = make_index(
        namespace("shop"),
        service("shop/web", "10.96.1.1", "fd00:96::1", ports=(port(53, "DNS", "UDP"), port(53), port(53, "dns-tcp"))),
        service("shop/ext", external="www.example.com"),
        service("shop/address", external="192.0.2.1"),
        service("shop/bare", "10.96.1.2"),
        service("hidden/web", "10.96.1.3"),
    )
    assert zone(index)[1:-1] == [
        "bare.shop.svc 5 A 10.96.1.2",
        "ext.shop.svc 5 CNAME www.example.com.",
        "web.shop.svc 5 A 10.96.1.1",
        "web.shop.svc 5 AAAA fd00:96::1",
        "web.shop.svc 5 SRV 0 100 53 web.shop.svc",
        "_dns._udp.web.shop.svc 5 SRV 0 100 53 web.shop.svc",
        "_dns-tcp._tcp.web.shop.svc 5 SRV 0 100 53 web.shop.svc",
    ]


def test_endpoints_of_a_headless_service() -> None:
    index = make_index(
        namespace("shop"),
        service("shop/db", "None", ports=(port(80, "http"),)),
        endpoint_slice(
            "shop/db-1",
            endpoint("10.0.0.1", host="db-0"),
            endpoint("10.0.0.2"),
            endpoint("10.0.0.3", ready=False),
            endpoint("10.0.0.4", host="x" * 64),
            of="db",
            ports=(HTTP, EndpointPort(9090, "", "TCP")),
        ),
        endpoint_slice("shop/db-2", endpoint("10.0.0.1", host="db-0"), of="db"),
        endpoint_slice("shop/db-3", endpoint("www.example.org"), of="db", kind="FQDN"),
    )
    assert zone(index, ttl=30)[1:-1] == [
        "db.shop.svc 30 A 10.0.0.1",
        "db-0.db.shop.svc 30 A 10.0.0.1",
        "_http._tcp.db.shop.svc 30 SRV 0 33 8080 db-0.db.shop.svc",
        "db.shop.svc 30 A 10.0.0.2",
        "10-0-0-2.db.shop.svc 30 A 10.0.0.2",
        "_http._tcp.db.shop.svc 30 SRV 0 33 8080 10-0-0-2.db.shop.svc",
    ]


def test_the_namespaces_option_hides_services() -> None:
    index = make_index(namespace("a"), namespace("b"), service("a/web", "10.0.0.1"), service("b/web", "10.0.0.2"))
    assert zone(index, namespaces=frozenset((b"b",)))[1:-1] == ["web.b.svc 5 A 10.0.0.2"]


def test_names_that_would_be_too_long_are_left_out() -> None:
    long = "x" * 63
    index = make_index(namespace(long), service(f"{long}/{'y' * 200}", "10.0.0.1"), service(f"{long}/web", "10.0.0.2"))
    assert zone(index)[1:-1] == [f"web.{long}.svc 5 A 10.0.0.2"]


def test_the_cluster_may_change_meanwhile() -> None:
    index = make_index(namespace("a"), service("a/one", "10.0.0.1"), service("a/two", "10.0.0.2"))
    records = zone_records(index, Policy(), ZONE, SOA)
    next(records)
    next(records)
    index.sinks["Service"].removed("a", "two")
    index.sinks["Service"].changed(service("a/three", "10.0.0.3"))
    assert record_texts(records, "cluster.local.") == ["two.a.svc 5 A 10.0.0.2", APEX]
