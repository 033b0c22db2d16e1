"""Addresses from a service subnet, judged by kubeadm's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.podside import cases
from waypost.podside.dnsip import ServiceSubnetError, api_service_ip, dns_ip, subnet_errors


def outcome(function: Callable[[str], str], subnet: str, key: str) -> dict[str, str]:
    try:
        return {key: function(subnet)}
    except ServiceSubnetError as exc:
        return {"error": str(exc)}


@pytest.mark.parametrize("case", cases("dnsip"))
def test_recorded(case: dict[str, Any]) -> None:
    subnet = case["service_subnet"]
    assert outcome(dns_ip, subnet, "dns_ip") == case["expect"]
    assert outcome(api_service_ip, subnet, "ip") == case["api_service"]
    errors = [{"field": each.field, "type": each.type, "detail": each.detail} for each in subnet_errors(subnet)]
    assert errors == case["kubeadm_config_errors"]
