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
    usable = set(network.hosts()) - {network[0]}
    given = Pool(network, 1).assign(f"key {number}" for number in range(20))
    assert {ip_address(address) for address in given.values()} == usable
    assert sorted(given) == sorted(f"key {number}" for number in range(20))[: 0 or None][: 20] or len(given) == len(usable)
