"""Quantities as the API writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from waypost.scaling.formula import ClusterSize, wanted
from waypost.scaling.nodes import NodeFacts, cluster_size, parse_quantity
from waypost.scaling.params import LadderParams, LinearParams, ParamsError, read_data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", "4"),
        ("3920m", "3.92"),
        ("0.5", "0.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+1", "1"),
        ("2500000u", "2.5"),
        ("1n", "0.000000001"),
        ("1k", "1000"),
        ("1Ki", "1024"),
        ("1E", "1000000000000000000"),
        ("1e3", "1000"),
        ("1E-1", "0.1"),
        ("", "0"),
        ("1 m", "0"),
        ("1e999999999", "0"),
        ("NaN", "0"),
        ("٤", "0"),
    ],
)
def test_quantities(text: str, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


def test_cores_are_rounded_once() -> None:
    assert cluster_size([NodeFacts(Decimal("3.92"), True)] * 3) == (3, 3, 12, 12)
    assert cluster_size([NodeFacts(Decimal("0.1"), True), NodeFacts(Decimal("0.1"), False)]) == (2, 1, 1, 1)


def test_as_many_as_the_api_takes() -> None:
    assert wanted(LinearParams(nodes_per_replica=1e-300), ClusterSize(5, 5, 5, 5)).replicas == 2**31 - 1
    assert wanted(LinearParams(nodes_per_replica=5e-324), ClusterSize(5, 5, 5, 5)).replicas == 2**31 - 1


def test_an_empty_ladder_is_no_server_at_all() -> None:
    assert wanted(LadderParams(), ClusterSize(5, 5, 5, 5)).replicas == 0


@pytest.mark.parametrize(
    "value", ['{"nodesPerReplica": 1, "min": 9' + "9" * 5000 + "}", "[" * 100_000, {"nodesPerReplica": {1}}, 5, None]
)
def test_nothing_else_than_a_refusal(value: object) -> None:
    with pytest.raises(ParamsError):
        read_data({"linear": value})
