"""Names by topology zone (`zonal`), and zones of imported Services (`multicluster`, KEP-1645)."""

from __future__ import annotations

import dns.rdatatype
import pytest

from support.objects import endpoint_slice, make_index, namespace, port, service
from waypost.cluster.answer import Result, answer
from waypost.cluster.index import Index
from waypost.cluster.objects import (
    IMPORTED_SERVICE_LABEL,
    SOURCE_CLUSTER_LABEL,
    Endpoint,
    EndpointPort,
    EndpointSlice,
    Meta,
    ServiceImport,
    ServiceImportSpec,
)
from waypost.cluster.policy import Policy
from waypost.wire import addr, names

ZONE = names.from_text("cluster.local.")
HTTP = EndpointPort(8080, "http", "TCP")


def ask(index: Index, policy: Policy, name: str, qtype: str) -> Result:
    return answer(index, policy, ZONE, names.from_text(f"{name}.cluster.local."), dns.rdatatype.from_text(qtype))


def outcome(result: Result) -> str:
    if not result.exists:
        return "X"
    return ",".join(addr.unpack(record.rdata) for record in result.answer) or "N"


@pytest.fixture
def zonal() -> Index:
    index = Index(lambda: 1.0, zones=True)
    slices = endpoint_slice("shop/s", of="db", ports=(HTTP,))
    slices.endpoints = [
        Endpoint(["10.0.0.1"], zone="eu-1a"),
        Endpoint(["10.0.0.2"], zone="EU-1B"),
        Endpoint(["10.0.0.3"], hostname="three", zone="zone.with.dots"),
        Endpoint(["10.0.0.4"]),
    ]
    for item in (namespace("shop"), service("shop/db", "None"), service("shop/web", "10.96.0.1"), slices):
        index.sinks[type(item).__name__].changed(item)
    return index


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("eu-1a.pin._zone.db.shop.svc", "10.0.0.1"),
        ("EU-1b.pin._zone.db.shop.svc", "10.0.0.2"),
        ("zone.with.dots.pin._zone.db.shop.svc", "10.0.0.3"),
        ("nowhere.pin._zone.db.shop.svc", "N"),
        ("nowhere.prefer._zone.db.shop.svc", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4"),
        ("eu-1a.prefer._zone.db.shop.svc", "10.0.0.1"),
        ("eu-1a.other._zone.db.shop.svc", "X"),
        ("eu-1a.pin._zones.db.shop.svc", "X"),
        ("pin._zone.db.shop.svc", "X"),
        ("eu-1a.pin._zone.web.shop.svc", "X"),
        ("eu-1a.pin._zone.nobody.shop.svc", "X"),
        ("10-0-0-1.db.shop.svc", "10.0.0.1"),
    ],
)
def test_zonal_names(zonal: Index, name: str, wanted: str) -> None:
    assert outcome(ask(zonal, Policy(zonal=True), name, "A")) == wanted


def test_a_zone_without_endpoints_exists_for_every_type(zonal: Index) -> None:
    for qtype in ("A", "AAAA", "SRV", "TXT", "MX"):
        result = ask(zonal, Policy(zonal=True), "nowhere.pin._zone.db.shop.svc", qtype)
        assert (result.exists, result.answer) == (True, ())


def test_targets_of_zonal_names_are_the_plain_endpoint_names(zonal: Index) -> None:
    result = ask(zonal, Policy(zonal=True), "zone.with.dots.pin._zone.db.shop.svc", "SRV")
    assert [names.to_text(record.rdata[6:]) for record in result.answer] == ["three.db.shop.svc.cluster.local."]


def test_zonal_names_need_the_option(zonal: Index) -> None:
    assert outcome(ask(zonal, Policy(), "eu-1a.pin._zone.db.shop.svc", "A")) == "X"


def imported(name: str, kind: str, *ips: str, ports: bool = True) -> ServiceImport:
    spec = ServiceImportSpec(kind, list(ips), [port(80, "http")] if ports else None)
    return ServiceImport(Meta(name, "shop"), spec)


def imported_slice(name: str, of: str, cluster: str, address: str, host: str | None = None) -> EndpointSlice:
    labels = {IMPORTED_SERVICE_LABEL: of, SOURCE_CLUSTER_LABEL: cluster}
    return EndpointSlice(Meta(name, "shop", labels=labels), "IPv4", [Endpoint([address], hostname=host)], [HTTP])


@pytest.fixture
def imports() -> Index:
    index = make_index(namespace("shop"))
    for item in (
        imported("web", "ClusterSetIP", "10.200.0.1"),
        imported("bare", "ClusterSetIP", "10.200.0.2", ports=False),
        imported("empty", "ClusterSetIP"),
        imported("db", "Headless"),
    ):
        index.import_sinks["ServiceImport"].changed(item)
    for item in (
        imported_slice("a", "db", "East", "10.1.0.1", "db-0"),
        imported_slice("b", "db", "west", "10.2.0.1", "db-0"),
        imported_slice("c", "web", "east", "10.1.0.9", "w"),
    ):
        index.import_sinks["ImportedSlice"].changed(item)
    return index


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("web.shop.svc", "10.200.0.1"),
        ("_http._tcp.web.shop.svc", "10.200.0.1"),
        ("bare.shop.svc", "X"),
        ("empty.shop.svc", "N"),
        ("db.shop.svc", "10.1.0.1,10.2.0.1"),
        ("db-0.db.shop.svc", "X"),
        ("db-0.east.db.shop.svc", "10.1.0.1"),
        ("db-0.West.db.shop.svc", "10.2.0.1"),
        ("db-0.north.db.shop.svc", "X"),
        ("w.east.web.shop.svc", "10.1.0.9"),
        ("nobody.shop.svc", "X"),
        ("shop.svc", "N"),
    ],
)
def test_imported_names(imports: Index, name: str, wanted: str) -> None:
    assert outcome(ask(imports, Policy(imported=True), name, "A")) == wanted


def test_srv_targets_name_the_cluster(imports: Index) -> None:
    result = ask(imports, Policy(imported=True), "db.shop.svc", "SRV")
    assert [names.to_text(record.rdata[6:]) for record in result.answer] == [
        "db-0.east.db.shop.svc.cluster.local.",
        "db-0.west.db.shop.svc.cluster.local.",
    ]
