from __future__ import annotations

import random

import pytest

from waypost.plugins.sign.lifetime import Signature, make_lifetime, time_text, why_due

HOUR, DAY = 3600, 86400
NOW = 1_767_366_245


def signature(*, age: float = 1 * DAY, left: float = 30 * DAY, tag: int = 7) -> Signature:
    return Signature(NOW - int(age), NOW + int(left), tag)


@pytest.mark.parametrize(
    ("signatures", "reason"),
    [
        ([], "it has no signature of its SOA"),
        ([signature()], ""),
        ([signature(age=6 * DAY)], ""),
        ([signature(age=6 * DAY + 1)], 'inception "2025-12-27T15:04:04.000Z" was more than 144h0m0s ago'),
        ([signature(age=-1)], 'inception "2026-01-02T15:04:06.000Z" is in the future'),
        ([signature(left=7 * DAY)], ""),
        ([signature(left=7 * DAY - 1)], 'expiration "2026-01-09T15:04:04.000Z" is less than 168h0m0s away'),
        ([signature(tag=8)], "it is not signed with key 7"),
        ([signature(), signature(age=7 * DAY)], 'inception "2025-12-26T15:04:05.000Z" was more than 144h0m0s ago'),
    ],
)
def test_why_due(signatures: list[Signature], reason: str) -> None:
    assert why_due(signatures, [7], NOW) == reason


def test_lifetimes_differ_from_zone_to_zone_within_bounds() -> None:
    rng = random.Random(1)
    periods = [make_lifetime(rng).at(NOW) for _ in range(200)]
    assert all(3 * HOUR <= NOW - inception <= 21 * HOUR for inception, _ in periods)
    assert all(32 * DAY <= expiration - NOW <= 37 * DAY for _, expiration in periods)
    assert len(set(periods)) > 190


def test_time_text() -> None:
    assert time_text(1564766865.27) == "2019-08-02T17:27:45.270Z"
