"""The API server's checks of dnsPolicy and dnsConfig, judged by what it said of the same pods."""

from __future__ import annotations

from typing import Any

import pytest

from support.podside import cases, pod_of
from waypost.podside.policy import DnsConfig, PodDns
from waypost.podside.validation import REQUIRED, validate, warnings


@pytest.mark.parametrize("case", cases("dnsconfig-validation"))
def test_recorded(case: dict[str, Any]) -> None:
    pod = pod_of(case)
    errors = [{**error._asdict(), "message": error.message} for error in validate(pod)]
    for error in errors:
        del error["value"]
    assert errors == case["errors"]
    assert warnings(pod) == case["warnings"]


def test_without_defaulting_the_policy_is_required() -> None:
    (error,) = validate(PodDns(), defaulting=False)
    assert (error.field, error.type, error.detail) == ("spec.dnsPolicy", REQUIRED, "")
    assert error.message == "spec.dnsPolicy: Required value"


def test_place_of_a_template() -> None:
    (error,) = validate(PodDns(dns_policy="None"), "spec.template.spec")
    assert error.field == "spec.template.spec.dnsConfig"


@pytest.mark.parametrize(("length", "valid"), [(253, True), (254, False)])
def test_length_of_a_domain(length: int, valid: bool) -> None:
    domain = ("a" * 63 + ".") * 4
    errors = validate(PodDns(dns_config=DnsConfig(searches=(domain[: length - 1] + "b.",))))
    assert [error.detail for error in errors] == ([] if valid else ["must be no more than 253 bytes"])
