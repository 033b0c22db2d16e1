"""Readings of names."""

from __future__ import annotations

import pytest

from waypost.querylog.asked import NameReader, entropy, payload_of, zone_size

READER = NameReader("Cluster.Local.", ["corp.example"])
DOMAIN = "cluster.local."


@pytest.mark.parametrize(
    ("name", "namespace", "surplus"),
    [
        ("web.shop.svc.", "shop", False),
        ("db-0.db.shop.svc.", "shop", False),
        ("_http._tcp.web.shop.svc.", "shop", False),
        ("_http._tcp.db-0.db.shop.svc.", "shop", False),
        ("shop.svc.", "shop", False),
        ("10-0-0-1.shop.pod.", "shop", False),
        ("api.example.com.shop.svc.", "shop", True),
        ("web.shop.svc.cluster.local.shop.svc.", "shop", True),
        ("_sip._udp.api.example.com.shop.svc.", "shop", True),
        ("svc.", "", False),
        ("pod.", "", False),
        ("dns-version.", "", False),
        ("ns.dns.", "", False),
        ("example.com.", "", True),
        ("web.", "", True),
    ],
)
def test_names_of_the_cluster(name: str, namespace: str, surplus: bool) -> None:
    asked = READER.read(name + DOMAIN)
    assert (asked.namespace, asked.surplus, asked.zone) == (namespace, surplus, "")


def test_stems_of_each_step_of_a_search_list() -> None:
    first = READER.read("example.com.shop.svc.cluster.local.")
    second = READER.read("example.com.svc.cluster.local.")
    third = READER.read("example.com.cluster.local.")
    fourth = READER.read("example.com.corp.example.")
    last = READER.read("example.com.")
    assert "example.com" in first.tries
    for earlier, later in ((first, second), (second, third), (third, fourth), (fourth, last)):
        assert "example.com" in earlier.tries
        assert "example.com" in later.later
    assert last.tries == ()


@pytest.mark.parametrize("name", ["acluster.local.", r"a\046cluster.local.", "local.", "cluster.local."])
def test_what_only_looks_like_the_domain(name: str) -> None:
    asked = READER.read(name)
    assert (asked.namespace, asked.surplus, asked.tries) == ("", False, ())


@pytest.mark.parametrize(
    ("name", "zone", "length", "longest"),
    [
        ("www.example.com.", "example.com", 3, 3),
        ("a.bb.example.co.uk.", "example.co.uk", 3, 2),
        ("a.b.example.de.", "example.de", 2, 1),
        ("host.corp.example.", "corp.example", 4, 4),
    ],
)
def test_names_outside(name: str, zone: str, length: int, longest: int) -> None:
    asked = READER.read(name)
    payload = payload_of(asked.front)
    assert (asked.zone, payload.length, payload.longest_label) == (zone, length, longest)


@pytest.mark.parametrize("name", [".", "com.", "example.com.", "1.0.0.10.in-addr.arpa."])
def test_names_with_nothing_before_a_zone(name: str) -> None:
    assert READER.read(name)[-2:] == ("", "")


@pytest.mark.parametrize(
    ("front", "data"),
    [
        ("www", False),
        ("production-payments-api.eu", False),
        ("a" * 40, False),
        ("5a8f0c1e9b7d4632a1f0e8c7b6d59a04", True),
        ("mzxw6ytboi4dcmrtgq2tmnzyhe3dqmjz", True),
        ("abcdefgh.ijklmnop.qrstuvwx.yz012345.abcdefgh.ijklmnop.qrstuvwx.yz012345", True),
    ],
)
def test_what_looks_like_data(front: str, data: bool) -> None:
    assert payload_of(READER.read(f"{front}.example.com.").front).looks_like_data is data


def test_entropy() -> None:
    assert entropy("") == 0
    assert entropy("aaaa") == 0
    assert entropy("abab") == pytest.approx(1)
    assert entropy("0123456789abcdef") == pytest.approx(4)


def test_zone_size() -> None:
    assert [zone_size(name.split(".")) for name in ("com", "a.com", "a.b.com", "a.co.uk", "co.uk")] == [2, 2, 2, 3, 2]
