"""From when until when a signature is good, and when it is time to make another. Pure; times in seconds since 1970."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from waypost.corefile.args import format_duration

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
CHECK_EVERY: Final = 5 * _HOUR
# Clocks of validators may be behind.
_BEFORE: Final = 3 * _HOUR
_BEFORE_JITTER: Final = 18 * _HOUR
_LIFETIME: Final = 32 * _DAY
_LIFETIME_JITTER: Final = 5 * _DAY
_OLD: Final = 6 * _DAY
_ENDING: Final = 7 * _DAY


class Signature(NamedTuple):
    """Of an RRSIG record of the SOA: when it begins and ends to be good, and with which key it was made."""

    inception: int
    expiration: int
    key_tag: int


class Lifetime(NamedTuple):
    """Of the signatures of one zone: moved by a part of a day or of some days, so that zones are not due at once."""

    before: int
    after: int

    def at(self, now: int) -> tuple[int, int]:
        """Inception and expiration of a signature that is made now."""
        return now - self.before, now + self.after


def make_lifetime(rng: random.Random) -> Lifetime:
    """One for a zone."""
    before = _BEFORE + int(rng.random() * _BEFORE_JITTER)
    return Lifetime(before, _LIFETIME + int(rng.random() * _LIFETIME_JITTER))


def why_due(signatures: Iterable[Signature], key_tags: Sequence[int], now: int) -> str:
    """Why a zone whose SOA is signed like this should be signed again; empty if it should not."""
    kept = list(signatures)
    if not kept:
        return "it has no signature of its SOA"
    for tag in key_tags:
        if all(signature.key_tag != tag for signature in kept):
            return f"it is not signed with key {tag}"
    for inception, expiration, _ in kept:
        age, left = now - inception, expiration - now
        if age > _OLD:
            return f'inception "{time_text(inception)}" was more than {format_duration(_OLD)} ago'
        if age < 0:
            return f'inception "{time_text(inception)}" is in the future'
        if left < _ENDING:
            return f'expiration "{time_text(expiration)}" is less than {format_duration(_ENDING)} away'
    return ""


def time_text(seconds: float) -> str:
    """A moment as `2026-01-02T15:04:05.000Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
