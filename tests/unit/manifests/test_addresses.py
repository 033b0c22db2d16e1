"""Predictable addresses."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address

import pytest

from waypost.manifests.addresses import Pool, Ranges, service_pool, suffix


def test_the_same_key_has_the_same_address_whatever_else_is_there() -> None:
    keys = [f"Pod/shop/web-{number}" for number in range(20)]
    alone = {key: Ranges().pod_pools()["IPv4"].take(key) for key in keys}
    assert Ranges().pod_pools()["IPv4"].assign(reversed(keys)) == alone


def test_addresses_do_not_change_between_releases() -> None:
    # Users write these into their tests.
    assert Ranges().service_pools()["IPv4"].take("Service/shop/web") == "10.102.190.150"
    assert Ranges().pod_pools()["IPv6"].take("Pod/shop/db-0") == "fd00:10:244:0:3110:d7:e9f9:7513"
    assert suffix("web", 10) == "zk72p8sgfl"


@pytest.mark.parametrize("network", [IPv4Network("10.0.0.0/28"), IPv6Network("fd00::/124")])
def test_a_network_is_used_to_the_last_address_but_not_beyond(network: IPv4Network | IPv6Network) -> None:
    given = Pool(network, 1).assign(f"key {number}" for number in range(20))
    assert {ip_address(address) for address in given.values()} == set(network.hosts())
    assert len(given) == len(set(network.hosts()))


@pytest.mark.parametrize("text", ["10.0.0.0/32", "10.0.0.0/31", "fd00::/128", "fd00::/127"])
def test_tiny_networks(text: str) -> None:
    network = IPv4Network(text) if "." in text else IPv6Network(text)
    for pool in (Pool(network, 1), Pool(network, 2), service_pool(network)):
        given = pool.assign(["a", "b", "c", "Service/default/kubernetes", "Service/kube-system/kube-dns"])
        assert {ip_address(address) for address in given.values()} <= set(network)
    assert Ranges(pod_v4=IPv4Network("10.0.0.7/32")).api_server == "10.0.0.7"


def test_reserved_addresses_are_not_given_out() -> None:
    wanted = Ranges().pod_pools()["IPv4"].take("Pod/shop/web")
    assert wanted is not None
    pool = Ranges().pod_pools()["IPv4"]
    pool.reserve(wanted)
    pool.reserve(wanted)
    pool.reserve("192.0.2.1")
    pool.reserve("fd00::1")
    assert pool.take("Pod/shop/web") == str(ip_address(wanted) + 1)
    assert pool.used == 2


def test_services_stay_above_the_static_part() -> None:
    pool = Ranges(service_v4=IPv4Network("10.0.0.0/24")).service_pools()["IPv4"]
    pool.reserve("10.0.0.5")
    given = pool.assign(map(str, range(239)))
    assert {int(address.rpartition(".")[2]) for address in given.values()} == set(range(16, 255))


def test_well_known_services_have_their_addresses_first() -> None:
    pool = service_pool(IPv4Network("10.0.0.0/28"))
    given = pool.assign(["Service/a/a", "Service/kube-system/kube-dns", "Service/default/kubernetes"])
    assert given["Service/default/kubernetes"] == "10.0.0.1"
    assert given["Service/kube-system/kube-dns"] == "10.0.0.10"
    taken = service_pool(IPv4Network("10.0.0.0/24"))
    taken.reserve("10.0.0.10")
    assert taken.take("Service/kube-system/kube-dns") not in (None, "10.0.0.10")
